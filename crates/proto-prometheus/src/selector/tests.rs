use super::*;
use foliot_model::{Label, Labels};

/// Whether a series is wanted by a selector.
fn wants(text: &str, name: &str, labels: &[(&str, &str)]) -> bool {
    let selector = VectorSelector::parse(text).unwrap();
    let label =
        |(name, value): &(&str, &str)| Label { name: (*name).into(), value: (*value).into() };
    let labels = Labels::new(labels.iter().map(label).collect());
    let stored = selector.selector(foliot_model::DEFAULT_NAMESPACE);
    stored.fits(name, "value", &labels) && selector.has_name(name)
}

fn refusal(text: &str) -> String {
    VectorSelector::parse(text).unwrap_err().to_string()
}

#[test]
fn conditions_are_anchored_and_an_absent_label_is_empty() {
    let labels = &[("job", "node"), ("my label", "x\ny")];
    for text in [
        "up",
        "up{}",
        " up { job = \"node\" , } # all of it",
        "up{job=~'no..'}",
        "up{job!~`od`}",
        "up{job!=\"\",host=\"\"}",
        "up{host!='a',host=~'.*'}",
        r#"{"up","my label"="x\ny"}"#,
        r#"{__name__=~"u.",__name__!="us",job="\x6e\157\u0064\U00000065"}"#,
        "up{'my label'=~'x.y'}",
    ] {
        assert!(wants(text, "up", labels), "{text}");
    }
    for text in
        ["us", "up{job=~'od'}", "up{host!=''}", "up{host=~'.+'}", "{__name__=~'u.',__name__!='up'}"]
    {
        assert!(!wants(text, "up", labels), "{text}");
    }
}

#[test]
fn what_is_no_selector_is_refused_by_its_place() {
    let empty = "vector selector must contain at least one non-empty matcher";
    for (text, wanted) in [
        ("", "1:1: parse error: no expression found in input".to_owned()),
        ("{}", format!("1:1: parse error: {empty}")),
        ("{a=~'.*'}", format!("1:1: parse error: {empty}")),
        ("up{a='b'", "1:9: parse error: unexpected end of input in label matching, expected \",\" or \"}\"".to_owned()),
        ("up{\na b}", "2:3: parse error: unexpected character: 'b' in label matching, expected label matching operator".to_owned()),
        ("up{a='b", "1:6: parse error: unterminated quoted string".to_owned()),
        ("up{__name__='b'}", "1:4: parse error: metric name must not be set twice: \"up\" or \"b\"".to_owned()),
        ("1 + 1", "1:1: parse error: only vector selectors are answered as yet".to_owned()),
        ("sum(up)", "1:4: parse error: unexpected text behind a vector selector".to_owned()),
    ] {
        assert_eq!(refusal(text), wanted, "{text}");
    }
    assert!(refusal("up{a=~'('}").starts_with("1:7: parse error: invalid regular expression"));
    for text in ["up{a='\\x6'}", "up{a='\\xff'}", "up{a='\\400'}", "up{a='\\ud800'}", "up{a='\\é'}"]
    {
        assert!(VectorSelector::parse(text).is_err(), "{text}");
    }
}
