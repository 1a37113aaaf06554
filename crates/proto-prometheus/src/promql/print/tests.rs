use super::*;

fn formatted(text: &str) -> String {
    Expression::parse(text).unwrap().format()
}

/// What `/api/v1/format_query` of Prometheus answers.
#[test]
fn expressions_are_formatted_as_prometheus_does() {
    for (text, wanted) in [
        ("up{b='1',a=~\"x\\n\"}", r#"up{a=~"x\n",b="1"}"#),
        ("{__name__='up'}", r#"{__name__="up"}"#),
        ("rate ( x{ } [90s] @ start() offset -1h )", "rate(x[1m30s] @ start() offset -1h)"),
        ("sum(x)by(a,b)+1e3", "sum by (a, b) (x) + 1000"),
        ("topk without() (2,x)", "topk without () (2, x)"),
        ("-(1)*+x", "-(1) * +x"),
        ("a==bool on(j)group_left b", "a == bool on (j) group_left () b"),
        ("a/ignoring()b", "a / b"),
        ("max_over_time((a+b)[1h:]@5)", "max_over_time((a + b)[1h:] @ 5.000)"),
        ("label_join(x,'a',\"'\")", r#"label_join(x, "a", "'")"#),
        ("time()", "time()"),
    ] {
        assert_eq!(formatted(text), wanted);
    }
    let long = "a_metric_with_a_rather_long_name{instance=\"somewhere\"}";
    let text = format!("sum by (j) ({long}) / on (j) ({long} - quantile(0.5, -{long} + {long}))");
    let wanted = format!(
        "  sum by (j) ({long})\n/ on (j)\n  (\n      {long}\n    -\n      quantile(\n        0.5,\n          -{long}\n        +\n          {long}\n      )\n  )"
    );
    assert_eq!(formatted(&text), wanted);
    let text = format!("max_over_time(({long}+{long})[5m:])+1");
    let wanted = format!(
        "  max_over_time(\n    (\n        {long}\n      +\n        {long}\n    )[5m:]\n  )\n+\n  1"
    );
    assert_eq!(formatted(&text), wanted);
}

#[test]
fn what_is_printed_is_read_as_the_same() {
    for text in [
        r#"{"a b"!="\x00\u00e9\\","my.metric"}"#,
        "sum_over_time(x[1y2w3d4h5m6s7ms] offset 1w)",
        "5m * x",
        "-Inf + NaN",
        "x and on () y unless ignoring (a) z or w",
        "absent(x @ 1.5) atan2 y ^ -z % 2",
    ] {
        let once = formatted(text);
        assert_eq!(formatted(&once), once, "{text}");
        let trees = [text, &once].map(|text| Expression::parse(text).unwrap().tree());
        assert_eq!(trees[0], trees[1], "{text}");
    }
}

#[test]
fn parentheses_are_no_selector() {
    for text in ["(x)[5m]", "(x) offset 5m", "(x[5m]) @ 1"] {
        assert!(Expression::parse(text).is_err(), "{text}");
    }
}
