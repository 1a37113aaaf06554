use super::*;

fn expand(text: &str) -> Result<String, String> {
    let label = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let labels = LabelSet::from([label("instance", "h.example.com:9100"), label("job", "node")]);
    let external_labels = LabelSet::from([label("cluster", "c1")]);
    let data = Data {
        labels: &labels,
        external_labels: &external_labels,
        external_url: "http://f:4242/x",
        value: 1_234_567.5,
        now_ms: 1_700_000_000_000,
    };
    let row = |instance: &str, value: f64| Row {
        labels: LabelSet::from([label("__name__", "m"), label("instance", instance)]),
        value,
    };
    let mut query = |text: &str| match text {
        "none" => Ok(Vec::new()),
        "m" => Ok(vec![row("b", 21.0), row("a", 11.0)]),
        other => Err(format!("no such expression: {other}")),
    };
    Template::parse(text)?.expand(&data, &mut query)
}

#[test]
fn templates_are_followed_as_prometheus_does() {
    for (text, wanted) in [
        ("plain", "plain"),
        ("{{ $labels.instance }} of {{ .Labels.job }}", "h.example.com:9100 of node"),
        ("{{$value}} {{ .Value | humanize }}", "1.2345675e+06 1.235M"),
        ("{{ $labels.none }}|{{ index $labels \"job\" }}", "|node"),
        (
            "{{ $externalLabels.cluster }} {{ $externalURL }} {{ externalURL }} {{ pathPrefix }}",
            "c1 http://f:4242/x http://f:4242/x /x",
        ),
        ("{{ printf \"%.2f\" $value }}", "1234567.50"),
        ("{{ $value | printf \"%.1f%%\" }}", "1234567.5%"),
        ("a {{- 1 -}} b {{/* said */}} c {{- /* x */ -}} d", "a1b  cd"),
        ("{{ if gt $value 1e6 }}big{{ else if eq 1 1 }}no{{ else }}small{{ end }}", "big"),
        ("{{ if and (eq $labels.job \"node\") (not false) }}y{{ end }}", "y"),
        ("{{ if or false nil \"\" 0 }}y{{ else }}n{{ end }}", "n"),
        ("{{ with $x := 5 }}{{ $x }}{{ . }}{{ end }}{{ with 0 }}{{ else }}e{{ end }}", "55e"),
        ("{{ $x := 1 }}{{ if true }}{{ $x = 2 }}{{ end }}{{ $x }}", "2"),
        ("{{ range query \"m\" }}{{ .Labels.instance }}:{{ .Value }} {{ end }}", "b:21 a:11 "),
        (
            "{{ range $i, $r := query \"m\" | sortByLabel \"instance\" }}{{ $i }}{{ $r | label \"instance\" }}{{ end }}",
            "0a1b",
        ),
        ("{{ query \"m\" | first | value | humanizeDuration }}", "21s"),
        ("{{ with query \"none\" }}{{ . | first | value }}{{ else }}none{{ end }}", "none"),
        ("{{ range query \"none\" }}x{{ else }}nothing{{ end }}", "nothing"),
        (
            "{{ range $k, $v := $labels }}{{ $k }}={{ $v }};{{ end }}",
            "instance=h.example.com:9100;job=node;",
        ),
        (
            "{{ range 5 }}{{ if eq . 3 }}{{ break }}{{ end }}{{ if eq . 1 }}{{ continue }}{{ end }}{{ . }}{{ end }}",
            "02",
        ),
        ("{{ (index (query \"m\") 1).Value }}", "11"),
        ("{{ len (query \"m\") }}", "2"),
        ("{{ \"a b\" | title }} {{ toUpper \"x\" }} {{ toLower \"X\" }}", "A B X x"),
        ("{{ reReplaceAll \"(.*):.*\" \"$1\" $labels.instance }}", "h.example.com"),
        ("{{ match \"ex.*\" $labels.instance }}", "true"),
        (
            "{{ stripPort $labels.instance }} {{ stripDomain $labels.instance }} {{ stripPort \"[::1]:80\" }} {{ stripDomain \"10.0.0.1:80\" }}",
            "h.example.com h:9100 ::1 10.0.0.1:80",
        ),
        ("{{ humanizeTimestamp 1435065584.128 }}", "2015-06-23 13:19:44.128 +0000 UTC"),
        ("{{ humanizePercentage 0.98765 }} {{ \"0.5\" | humanizePercentage }}", "98.77% 50%"),
        ("{{ graphLink \"up == 0\" }}", "/graph?g0.expr=up+%3D%3D+0&g0.tab=0"),
        ("{{ `raw \"text\"` }} {{ 'a' }} {{ print \"a\" 1 2 \"b\" }}", "raw \"text\" 97 a1 2b"),
        (
            "{{ $ }}",
            "map[ExternalLabels:map[cluster:c1] ExternalURL:http://f:4242/x Labels:map[instance:h.example.com:9100 job:node] Value:1.2345675e+06]",
        ),
        ("}} { {", "}} { {"),
    ] {
        assert_eq!(expand(text).as_deref(), Ok(wanted), "{text}");
    }
}

/// Cases of Prometheus' tests of its templates.
#[test]
fn numbers_are_humanized_as_prometheus_does() {
    for (text, wanted) in [
        ("{{ range $v := query \"m\" }}{{ humanize $v.Value }}:{{ end }}", "21:11:"),
        (
            "{{ humanize 0.0 }}:{{ humanize 1.0 }}:{{ humanize 1234567.0 }}:{{ humanize .12 }}",
            "0:1:1.235M:120m",
        ),
        (
            "{{ humanize1024 0.0 }}:{{ humanize1024 1.0 }}:{{ humanize1024 1048576.0 }}:{{ humanize1024 .12 }}",
            "0:1:1Mi:0.12",
        ),
        (
            "{{ humanizeDuration 0 }}:{{ humanizeDuration 1 }}:{{ humanizeDuration 60 }}:{{ humanizeDuration 3600 }}:{{ humanizeDuration 86400 }}:{{ humanizeDuration 172800 }}:{{ humanizeDuration -86400 }}",
            "0s:1s:1m 0s:1h 0m 0s:1d 0h 0m 0s:2d 0h 0m 0s:-1d 0h 0m 0s",
        ),
        (
            "{{ humanizeDuration .1 }}:{{ humanizeDuration .0001 }}:{{ humanizeDuration .12345 }}:{{ humanizeDuration 60.1 }}:{{ humanizeDuration 12.5678 }}",
            "100ms:100us:123.5ms:1m 0s:12.57s",
        ),
        (
            "{{ humanizePercentage -0.22222 }}:{{ humanizePercentage 0.0 }}:{{ humanizePercentage 0.1234567 }}:{{ humanizePercentage 1.23456 }}",
            "-22.22%:0%:12.35%:123.5%",
        ),
    ] {
        assert_eq!(expand(text).as_deref(), Ok(wanted), "{text}");
    }
}

#[test]
fn printf_is_that_of_go() {
    for (format, wanted) in [
        ("\"%d|%5d|%-5d|%05d|%+d\" 42 42 42 42 42", "42|   42|42   |00042|+42"),
        ("\"%f %.0f %8.3f %e\" 1.5 2.5 3.14159 1500.0", "1.500000 2    3.142 1.500000e+03"),
        ("\"%g %v %.3g\" 1e21 0.00001 123456.0", "1e+21 1e-05 1.23e+05"),
        ("\"%s %q %x %t %%\" \"a\" \"b\" 255 true", "a \"b\" ff true %"),
        ("\"%d\" 1.5", "%!d(float64=1.5)"),
        ("\"%s\"", "%!s(MISSING)"),
        ("\"x\" 1", "x%!(EXTRA int=1)"),
        ("\"%\"", "%!(NOVERB)"),
    ] {
        let text = format!("{{{{ printf {format} }}}}");
        assert_eq!(expand(&text).as_deref(), Ok(wanted), "{format}");
    }
}

#[test]
fn what_cannot_be_followed_is_told() {
    for (text, word) in [
        ("{{ $labels.instance ", "no end"),
        ("{{ if true }}", "an if has no end"),
        ("{{ end }}", "ends nothing"),
        ("{{ else }}", "belongs to nothing"),
        ("{{ nosuch 1 }}", "\"nosuch\" is not known"),
        ("{{ template \"x\" }}", "template is not followed here"),
        ("{{ 1 | }}", "a value is missing"),
        ("{{ /* said */ }}", "means nothing in an action"),
        ("{{ (1 }}", "not closed"),
        ("{{ 1) }}", "closes nothing"),
        ("{{ \"a }}", "has no end"),
        ("{{ $nosuch }}", "no variable $nosuch"),
        ("{{ query \"bad(\" }}", "no such expression"),
        ("{{ first (query \"none\") }}", "no elements"),
        ("{{ humanize \"x\" }}", "is no number"),
        ("{{ index $labels 1 }}", "has no 1"),
        ("{{ lt 1 \"a\" }}", "cannot be compared"),
        ("{{ match \"(\" \"a\" }}", "no regular expression"),
        ("{{ range 100000 }}{{ range 100000 }}{{ end }}{{ end }}", "steps"),
        ("{{ range 90000 }}xxxxxxxxxx{{ end }}", "bytes"),
        ("{{ $x := \"a\" }}{{ range 60 }}{{ $x = print $x $x }}{{ end }}", "takes more than"),
        ("{{ $x := args 1 2 }}{{ range 60 }}{{ $x = args $x $x }}{{ end }}", "takes more than"),
        ("{{ range 101 }}{{ query \"m\" }}{{ end }}", "expressions"),
        ("{{ 1 2 }}", "has arguments"),
        ("{{ printf }}", "not taken"),
        ("{{ $x.y.z }}", "no variable"),
        ("{{ $value.x }}", "no field x"),
    ] {
        let error = expand(text).unwrap_err();
        assert!(error.contains(word), "{text}: {error}");
    }
    let deep = format!("{{{{ {}1{} }}}}", "(".repeat(5000), ")".repeat(5000));
    assert!(expand(&deep).unwrap_err().contains("parentheses"));
    let deep = "{{ if true }}".repeat(5000);
    assert!(expand(&deep).unwrap_err().contains("in one another"));
}

#[test]
fn variables_are_known_where_go_knows_them() {
    for text in [
        "{{ $ }}{{ $.Labels.a }}{{ $labels.a }}{{ $externalLabels }}{{ $externalURL }}{{ $value }}",
        "{{ range $i, $r := query \"m\" }}{{ $i }}{{ $r.Value }}{{ else }}{{ $r }}{{ end }}",
        "{{ with $x := 1 }}{{ $x }}{{ else }}{{ $x }}{{ end }}",
        "{{ if $x := 1 }}{{ $x }}{{ else if $x }}{{ $x }}{{ end }}",
        "{{ $x := 1 }}{{ if true }}{{ $x = $x }}{{ end }}{{ print (print $x) }}",
        "{{ if true }}{{ $x := 1 }}{{ else }}{{ $x }}{{ end }}",
        "{{ $x = 1 }}",
    ] {
        assert!(Template::parse(text).is_ok(), "{text}: {:?}", Template::parse(text));
    }
    for (text, name) in [
        ("{{ $foo }}", "foo"),
        ("{{ if false }}{{ $Labels.a }}{{ end }}", "Labels"),
        ("{{ range $i, $r := query \"m\" }}{{ end }}{{ $r }}", "r"),
        ("{{ with $x := 1 }}{{ end }}{{ $x }}", "x"),
        ("{{ if true }}{{ $x := 1 }}{{ end }}{{ $x }}", "x"),
        ("{{ $y }}{{ $y := 1 }}", "y"),
        ("{{ print 1 (print $foo.bar) }}", "foo"),
        ("{{ if true }}{{ else if $foo }}{{ end }}", "foo"),
        ("{{ range $foo }}{{ end }}", "foo"),
    ] {
        let wanted = format!("there is no variable ${name}");
        assert_eq!(Template::parse(text).unwrap_err(), wanted, "{text}");
    }
}

#[test]
fn a_loop_is_left_from_within() {
    let parse = |text: &str| Template::parse(text).map(|_| ());
    assert_eq!(parse("{{ range 5 }}{{ if . }}{{ break }}{{ end }}{{ continue }}{{ end }}"), Ok(()));
    for text in [
        "{{ break }}",
        "{{ if true }}{{ continue }}{{ end }}",
        "{{ range 5 }}{{ else }}{{ break }}{{ end }}",
        "{{ range 5 }}{{ end }}{{ break }}",
    ] {
        assert_eq!(parse(text).unwrap_err(), "a break or continue leaves no range", "{text}");
    }
}

#[test]
fn any_bytes_are_read_without_harm() {
    // A walk over cuts and changes of a text that has everything in it.
    let whole = "a{{- if and (eq $labels.x `y`) 1.5e3 -}}{{range $i, $v := .L.M | f \"\\n\"}}{{/* c */}}é{{end}}{{end}}";
    for start in (0..whole.len()).filter(|at| whole.is_char_boundary(*at)) {
        let _ = expand(&whole[start..]);
        let _ = expand(&whole[..start]);
        for sign in ["{{", "}}", "\"", "(", "|", "$", ".", "-", "\\", "/*", "ü"] {
            let _ = expand(&format!("{}{sign}{}", &whole[..start], &whole[start..]));
        }
    }
}
