use super::*;
use crate::reading::Findings;

/// Rules of a text of YAML; what is wrong with them otherwise.
fn rules(text: &str) -> Result<Vec<Relabel>, String> {
    let findings = Findings::new("rules.yml");
    let node = findings.parse(text).unwrap();
    let rules = read(Some(Reader::new(&node, &findings)));
    match findings.end() {
        Ok(_) => Ok(rules),
        Err(errors) => Err(errors.iter().map(|error| format!("{error}\n")).collect()),
    }
}

fn labels(text: &str) -> LabelSet {
    let pairs = text.split_whitespace().filter_map(|pair| pair.split_once('='));
    pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

/// What labels become, or that they are dropped.
fn becomes(text: &str, before: &str) -> String {
    let mut labels = labels(before);
    match relabel(&rules(text).unwrap(), &mut labels) {
        true => labels.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>(),
        false => vec!["dropped".to_owned()],
    }
    .join(" ")
}

/// Cases of Prometheus' own tests of its rules (`model/relabel`), and of its documentation.
#[test]
fn rules_do_what_prometheus_says() {
    for (rule, before, after) in [
        (
            "[{source_labels: [a], target_label: d, separator: ';', regex: 'f(.*)', \
             replacement: 'ch${1}-ch${1}', action: replace}]",
            "a=foo b=bar c=baz",
            "a=foo b=bar c=baz d=choo-choo",
        ),
        (
            "[{source_labels: [a, b], regex: 'f(.*);(.*)r', target_label: a, \
             replacement: 'b${1}${2}m'}, {source_labels: [c, a], regex: '(b).*b(.*)ba(.*)', \
             target_label: d, replacement: '$1$2$2$3'}]",
            "a=foo b=bar c=baz",
            "a=boobam b=bar c=baz d=boooom",
        ),
        ("[{source_labels: [a], regex: '.*o.*', action: drop}]", "a=foo", "dropped"),
        ("[{source_labels: [a], regex: 'o', action: drop}]", "a=foo", "a=foo"),
        ("[{source_labels: [a], regex: 'no-match', action: keep}]", "a=foo", "dropped"),
        ("[{source_labels: [a], regex: 'f.*', action: keep}]", "a=foo", "a=foo"),
        // No match, no change; an empty replacement takes the label away.
        ("[{source_labels: [a], regex: 'x', target_label: b, replacement: bar}]", "a=b", "a=b"),
        (
            "[{source_labels: [a], regex: 'f', target_label: b, replacement: bar}]",
            "a=foo b=c",
            "a=foo b=c",
        ),
        ("[{target_label: a, replacement: ''}]", "a=foo b=c", "b=c"),
        ("[{regex: 'a', action: labeldrop}]", "a=1 ab=2", "ab=2"),
        ("[{regex: '(a.*)|b', action: labelkeep}]", "a=1 ab=2 b=3 c=4", "a=1 ab=2 b=3"),
        (
            "[{source_labels: [c], target_label: d, action: hashmod, modulus: 1000}]",
            "a=foo b=bar c=baz",
            "a=foo b=bar c=baz d=976",
        ),
        (
            "[{regex: '(b.*)', replacement: 'bar_${1}', action: labelmap}]",
            "a=foo b1=bar",
            "a=foo b1=bar bar_b1=bar",
        ),
        (
            "[{regex: '__meta_(my.*)', replacement: '${1}', action: labelmap}]",
            "a=foo __meta_my_bar=aaa __meta_my_baz=bbb __meta_other=ccc",
            "__meta_my_bar=aaa __meta_my_baz=bbb __meta_other=ccc a=foo my_bar=aaa my_baz=bbb",
        ),
        // A name that comes of a match.
        (
            "[{source_labels: [a], regex: 'some-([^-]+)-([^,]+)', replacement: '${2}', \
             target_label: '${1}'}]",
            "a=some-name-value",
            "a=some-name-value name=value",
        ),
        (
            "[{source_labels: [a], regex: 'some-([^-]+)-([^,]+)', replacement: '${3}', target_label: '${1}'}]",
            "a=some-name-value",
            "a=some-name-value",
        ),
        (
            "[{source_labels: [a], action: lowercase, target_label: l}, {source_labels: [a], action: uppercase, target_label: u}]",
            "a=bAr123Foo",
            "a=bAr123Foo l=bar123foo u=BAR123FOO",
        ),
        (
            "[{source_labels: [p], action: keepequal, target_label: q}]",
            "p=1234 q=1234",
            "p=1234 q=1234",
        ),
        ("[{source_labels: [p], action: keepequal, target_label: q}]", "p=1234 q=5678", "dropped"),
        ("[{source_labels: [p], action: dropequal, target_label: q}]", "p=1234 q=1234", "dropped"),
        (
            "[{source_labels: [p], action: DropEqual, target_label: q}]",
            "p=1234 q=5678",
            "p=1234 q=5678",
        ),
        // What is missing counts as empty.
        (
            "[{source_labels: [x, y], separator: '', regex: '', target_label: z, replacement: n}]",
            "a=1",
            "a=1 z=n",
        ),
        (
            "[{source_labels: [__address__], regex: '([^:]+)(?::\\d+)?', target_label: __address__, replacement: '$1:9100'}]",
            "__address__=h:80",
            "__address__=h:9100",
        ),
    ] {
        assert_eq!(becomes(rule, before), after, "{rule} on {before}");
    }
}

#[test]
fn md5_is_the_hash() {
    // `printf baz | md5sum` is 73feffa4b7f6bb68e44cf984c85f6e88.
    assert_eq!(hash("baz"), 0xe44c_f984_c85f_6e88);
    assert_eq!(hash("foo\nbar") % 1000, 734, "as in Prometheus' tests");
}

#[test]
fn bad_rules_are_told_by_line() {
    for (text, word) in [
        ("[{action: explode}]", "\"explode\" is none of replace, keep"),
        ("- source_labels: [a]\n  regx: b\n  target_label: c", "rules.yml:2: [0].regx: "),
        ("[{source_labels: [a]}]", "needs a target_label"),
        ("[{action: hashmod, source_labels: [a], target_label: b}]", "modulus"),
        ("[{action: labeldrop, regex: a, source_labels: [b]}]", "nothing else"),
        ("[{regex: '(', target_label: b}]", "no regular expression"),
        ("[{regex: 'a{1000}{1000}{1000}', target_label: b}]", "no regular expression"),
        ("[{action: labelmap, replacement: ''}]", "needs a replacement"),
        ("[{action: labelkeep, regex: a, separator: ''}]", "nothing else"),
        ("[{action: keepequal, target_label: a, regex: b}]", "nothing else"),
        ("[{action: dropequal, target_label: a, regex: '(.*)'}]", "nothing else"),
        ("[{action: keepequal, target_label: a, separator: ','}]", "nothing else"),
        ("[{action: dropequal, target_label: a, modulus: 2}]", "nothing else"),
        ("[{action: keepequal, target_label: a, replacement: b}]", "nothing else"),
        ("[{action: lowercase, target_label: a, replacement: b}]", "no replacement"),
        ("{action: keep}", "a list is needed"),
    ] {
        let error = rules(text).unwrap_err();
        assert!(error.contains(word), "{text}: {error}");
    }
    // What goes without saying may be said.
    for text in [
        "[{action: keepequal, target_label: a, separator: ;, modulus: 0, replacement: $1}]",
        "[{action: labeldrop, separator: ;, target_label: '', replacement: $1}]",
    ] {
        assert!(rules(text).is_ok(), "{text}: {:?}", rules(text));
    }
}
