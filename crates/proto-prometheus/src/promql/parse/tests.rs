use super::super::VectorSelector;
use super::operators::{SIGNS, WORDS};
use super::*;
use foliot_model::{Label, Matcher};
use foliot_plan::grid::Operator;

/// Whether a series is wanted by a selector.
fn wants(text: &str, name: &str, labels: &[(&str, &str)]) -> bool {
    let selector = VectorSelector::parse(text).unwrap();
    let label =
        |(name, value): &(&str, &str)| Label { name: (*name).into(), value: (*value).into() };
    let labels: Vec<Label> = labels.iter().map(label).collect();
    let stored = selector.selector(foliot_model::DEFAULT_NAMESPACE);
    let has_name = |matcher: &Matcher| matcher.matches(Some(name));
    stored.fits(name, "value", &labels.into()) && selector.names().iter().all(has_name)
}

fn refusal(text: &str) -> String {
    Expression::parse(text).unwrap_err().to_string()
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
        ("up{__name__='b'}", "1:1: parse error: metric name must not be set twice: \"up\" or \"b\"".to_owned()),
    ] {
        assert_eq!(refusal(text), wanted, "{text}");
    }
    assert!(
        refusal("up{a=~'('}")
            .starts_with("1:4: parse error: error parsing regexp: missing closing ): `(`")
    );
    for text in ["up{a='\\x6'}", "up{a='\\xff'}", "up{a='\\400'}", "up{a='\\ud800'}", "up{a='\\é'}"]
    {
        assert!(Expression::parse(text).is_err(), "{text}");
    }
}

/// An expression with all its parentheses.
fn shape(of: &Expression) -> String {
    match &of.what {
        Node::Number(number) | Node::Length(number) => number.to_string(),
        Node::Signed(input) => format!("+{}", shape(input)),
        Node::Binary(binary) => {
            let known = WORDS.iter().chain(&SIGNS);
            let is_same = |operator: Operator| match (operator, binary.operator) {
                (
                    Operator::Compare { comparison: a, .. },
                    Operator::Compare { comparison: b, .. },
                ) => a == b,
                (a, b) => a == b,
            };
            let (sign, ..) = known.clone().find(|(.., operator)| is_same(*operator)).unwrap();
            format!("({} {sign} {})", shape(&binary.left), shape(&binary.right))
        }
        Node::Negated(input) => format!("-{}", shape(input)),
        Node::Series(_) => "s".to_owned(),
        Node::Range(_, ms) => format!("s[{ms}]"),
        Node::Subquery { input, range_ms, .. } => format!("{}[{range_ms}:]", shape(input)),
        Node::Aggregate { name, input, .. } => format!("{name}({})", shape(input)),
        Node::Call { function, arguments } => {
            let arguments: Vec<String> = arguments.iter().map(shape).collect();
            format!("{}({})", function.name, arguments.join(","))
        }
        Node::Text(text) => format!("{text:?}"),
    }
}

#[test]
fn operators_bind_by_their_rank() {
    for (text, wanted) in [
        ("1 + 2 * 3", "(1 + (2 * 3))"),
        ("1 * 2 + 3", "((1 * 2) + 3)"),
        ("1 - 2 - 3", "((1 - 2) - 3)"),
        ("2 ^ 3 ^ 2", "(2 ^ (3 ^ 2))"),
        ("-2 ^ 2", "-(2 ^ 2)"),
        ("2 ^ -2", "(2 ^ -2)"),
        ("-a * b", "(-s * s)"),
        ("a or b and c unless d", "(s or ((s and s) unless s))"),
        ("a > bool 1 == bool b", "((s > 1) == s)"),
        ("a atan2 b + c", "((s atan2 s) + s)"),
        ("(1 + 2) * 3", "((1 + 2) * 3)"),
        ("SUM by (x) (a) / on(y) group_left b", "(sum(s) / s)"),
        ("sum(a) without (x, \"y z\",)", "sum(s)"),
        ("topk(3, rate(a[5m]))", "topk(3,rate(s[300000]))".replace("3,", "").as_str()),
        ("max_over_time(sum(a)[1h:1m] offset 5m)", "max_over_time(sum(s)[3600000:])"),
        ("a{b='c'}[90] @ 10 offset -1h30m", "s[90000]"),
        ("a @ start() offset 1d", "s"),
        ("a offset -\n 1m @ + 7", "s"),
        ("a @ - 7 offset - 1m", "s"),
        ("sum + avg", "(s + s)"),
        ("0x1F + 1e3 + .5 + Inf + 1h30m", "((((31 + 1000) + 0.5) + inf) + 5400)"),
        ("1_000 + 2e-1", "(1000 + 0.2)"),
        ("count_values('v', a)", "count_values(s)"),
        ("label_join(a, 'x', ',')", "label_join(s,\"x\",\",\")"),
        ("# nothing\n1 # end", "1"),
        ("on + by", "(s + s)"),
    ] {
        assert_eq!(shape(&Expression::parse(text).unwrap()), wanted, "{text}");
    }
}

#[test]
fn what_is_no_expression_is_refused_in_words() {
    for (text, word) in [
        ("1 +", "unexpected end of input"),
        ("(1", "unexpected end of input in paren expression, expected \")\""),
        ("1 1", "unexpected character: '1'"),
        (
            "a.b.c",
            "expected end of input: a name with dots stands in braces and quotes, {\"a.b.c\"}; where c is a field of a.b it is {\"a.b_c\"}",
        ),
        ("sum(rate(x:a.b[5m]))", "{\"x:a.b\"}"),
        ("a.5", "in expression, expected end of input"),
        ("foo(a)", "1:1: parse error: unknown function with name \"foo\""),
        ("abs(a, b)", "expected 1 argument(s) in call to \"abs\", got 2"),
        ("abs(1)", "expected type instant vector in call to function \"abs\", got scalar"),
        ("rate(a)", "expected type range vector in call to function \"rate\", got instant vector"),
        ("sum(1)", "expected type instant vector in aggregation expression, got scalar"),
        (
            "topk(a)",
            "wrong number of arguments for aggregate expression provided, expected 2, got 1",
        ),
        ("1 > 2", "comparisons between scalars must use BOOL modifier"),
        ("1 and a", "set operator \"and\" not allowed in binary scalar expression"),
        ("1 + bool 2", "bool modifier can only be used on comparison operators"),
        ("a + on(x) 1", "vector matching only allowed between instant vectors"),
        ("a and on(x) group_left b", "no grouping allowed for \"and\" operation"),
        ("a + on(x) group_left(x) b", "must not occur in ON and GROUP clause at once"),
        ("'a' + 1", "binary expression must contain only scalar and instant vector types"),
        ("-'a'", "unary expression only allowed on expressions of type scalar or instant vector"),
        ("sum(a)[5m]", "ranges only allowed for vector selectors"),
        ("1[5m:1m]", "subquery is only allowed on instant vector, got scalar"),
        ("a[0]", "duration must be greater than 0"),
        ("a[5x]", "bad number or duration syntax: \"5x\""),
        ("a[1m1h]", "bad number or duration syntax"),
        ("1 offset 5m", "offset modifier must be preceded by"),
        ("a offset 5m offset 6m", "offset may not be set multiple times"),
        ("a @ 1 @ 2", "@ <timestamp> may not be set multiple times"),
        ("a[5m] @ middle()", "bad number or duration syntax: \"middle\""),
        ("a offset 1000y", "duration out of range"),
    ] {
        let error = refusal(text);
        assert!(error.contains(word), "{text}: {error}");
    }
}

/// What the parser of Prometheus 3.16 says of the same texts (`promql/parser`), place and words.
#[test]
fn what_is_of_a_wrong_type_is_refused_where_prometheus_does() {
    for (text, wanted) in [
        (
            "abs(1)",
            "1:5: parse error: expected type instant vector in call to function \"abs\", got scalar",
        ),
        (
            " sum( (rate(a)) )",
            "1:13: parse error: expected type range vector in call to function \"rate\", got instant vector",
        ),
        (
            "sum(a[5m])",
            "1:5: parse error: expected type instant vector in aggregation expression, got range vector",
        ),
        (
            "quantile(a, b)",
            "1:10: parse error: expected type scalar in aggregation parameter, got instant vector",
        ),
        (
            "count_values(1, a)",
            "1:14: parse error: expected type string in aggregation parameter, got scalar",
        ),
        (
            "label_replace(a, 1, \"b\", \"c\", \"d\")",
            "1:18: parse error: expected type string in call to function \"label_replace\", got scalar",
        ),
        (
            "clamp(a, b, 1)",
            "1:10: parse error: expected type scalar in call to function \"clamp\", got instant vector",
        ),
        (
            "round(a, \"x\")",
            "1:10: parse error: expected type scalar in call to function \"round\", got string",
        ),
        (
            "sum_over_time(rate(a[5m]))",
            "1:15: parse error: expected type range vector in call to function \"sum_over_time\", got instant vector",
        ),
        (
            "predict_linear(a[5m], b)",
            "1:23: parse error: expected type scalar in call to function \"predict_linear\", got instant vector",
        ),
        ("rate(a[5m], 1)", "1:1: parse error: expected 1 argument(s) in call to \"rate\", got 2"),
        (
            "round(a, 1, 2)",
            "1:1: parse error: expected at most 2 argument(s) in call to \"round\", got 3",
        ),
        (
            "label_join(a, \"b\")",
            "1:1: parse error: expected at least 3 argument(s) in call to \"label_join\", got 2",
        ),
        (
            "topk(a)",
            "1:1: parse error: wrong number of arguments for aggregate expression provided, expected 2, got 1",
        ),
        (
            "(a[5m]) + 1",
            "1:1: parse error: binary expression must contain only scalar and instant vector types",
        ),
        (
            "rate(a[5m]) + b[5m]",
            "1:15: parse error: binary expression must contain only scalar and instant vector types",
        ),
        (
            "a > bool \"x\"",
            "1:10: parse error: binary expression must contain only scalar and instant vector types",
        ),
        (
            "-(a[5m])",
            "1:1: parse error: unary expression only allowed on expressions of type scalar or instant vector, got \"range vector\"",
        ),
        (
            "x * (a and 1)",
            "1:6: parse error: set operator \"and\" not allowed in binary scalar expression",
        ),
        ("a + bool b", "1:3: parse error: bool modifier can only be used on comparison operators"),
        ("x + (1 > 2)", "1:8: parse error: comparisons between scalars must use BOOL modifier"),
        ("a == on(b) 1", "1:1: parse error: vector matching only allowed between instant vectors"),
        ("a or on(x) group_left b", "1:1: parse error: no grouping allowed for \"or\" operation"),
        (
            "a / on(x) group_left(x) b",
            "1:3: parse error: label \"x\" must not occur in ON and GROUP clause at once",
        ),
        ("rate(a[5m])[5m]", "1:12: parse error: ranges only allowed for vector selectors"),
        ("a offset 5m [5m]", "1:13: parse error: no offset modifiers allowed before range"),
        ("a @ 1 [5m]", "1:7: parse error: no @ modifiers allowed before range"),
        (
            "x + 1[5m:1m]",
            "1:5: parse error: subquery is only allowed on instant vector, got scalar instead",
        ),
        ("x + a offset 5m offset 5m", "1:5: parse error: offset may not be set multiple times"),
        ("x + a @ 1 @ 2", "1:5: parse error: @ <timestamp> may not be set multiple times"),
        (
            "x + sum(a) offset 5m",
            "1:5: parse error: offset modifier must be preceded by an instant vector selector or range vector selector or a subquery",
        ),
        ("nosuch(a)", "1:1: parse error: unknown function with name \"nosuch\""),
        (
            "x + {b=\"\"}",
            "1:5: parse error: vector selector must contain at least one non-empty matcher",
        ),
        (
            "x + a{b=\"c\",__name__=\"d\"}",
            "1:5: parse error: metric name must not be set twice: \"a\" or \"d\"",
        ),
    ] {
        assert_eq!(refusal(text), wanted, "{text}");
    }
    // Lists without labels ask for nothing.
    for text in ["a + on() 1", "1 + ignoring() 2"] {
        assert!(Expression::parse(text).is_ok(), "{text}");
    }
}

#[test]
fn lists_have_an_end() {
    let conditions = |count: usize| {
        let all: Vec<_> = (0..count).map(|at| format!("a{at}=\"x\"")).collect();
        format!("absent({{{}}})", all.join(","))
    };
    let labels = |count: usize| {
        let all: Vec<_> = (0..count).map(|at| format!("b{at}")).collect();
        format!("a + on({}) b", all.join(","))
    };
    for text in [conditions(1024), labels(1024)] {
        assert!(Expression::parse(&text).is_ok());
    }
    assert!(refusal(&conditions(1025)).contains("more than 1024 label matchers"));
    assert!(refusal(&labels(1025)).contains("more than 1024 labels"));
    let arguments = format!("max(a{})", ",a".repeat(1024));
    assert!(refusal(&arguments).contains("more than 1024 expressions"));
}

#[test]
fn labels_of_what_is_absent_are_those_of_the_last_word() {
    let known = |text: &str| {
        let selector = VectorSelector::parse(text).unwrap();
        let known = selector.known_labels();
        known.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(",")
    };
    for (text, wanted) in [
        (r#"m{a="1",b="2"}"#, "a=1,b=2"),
        (r#"m{a="1",b="2",a="3"}"#, "b=2"),
        (r#"m{a="1",a!="4",b="2"}"#, "b=2"),
        (r#"m{a=~"1",a="2"}"#, "a=2"),
        (r#"m{a="",b="2"}"#, "b=2"),
        (r#"m{a="",a="1",b="2"}"#, "b=2"),
    ] {
        assert_eq!(known(text), wanted, "{text}");
    }
}

#[test]
fn no_expression_is_too_high() {
    let deep = |count: usize| format!("{}1{}", "(".repeat(count), ")".repeat(count));
    Expression::parse(&deep(40)).unwrap();
    assert!(refusal(&deep(100_000)).contains("nested more than 100 deep"));
    assert!(refusal(&vec!["1"; 100_000].join("+")).contains("nested more than 100 deep"));
    assert!(refusal(&"-".repeat(100_000)).contains("nested more than 100 deep"));
    assert!(refusal(&vec!["1"; 100_000].join("^")).contains("nested more than 100 deep"));
}

#[test]
fn lengths_are_calculated_where_that_is_spoken() {
    let dialect = Dialect::Experimental { step_ms: 5_000, range_ms: 60_000 };
    let length = |text: &str| match Expression::parse_as(text, dialect).map(|of| of.what) {
        Ok(Node::Range(_, ms)) => Ok(ms),
        Ok(Node::Series(selected)) => Ok(selected.shift.offset_ms.unwrap_or(0)),
        Ok(other) => panic!("{text}: {other:?}"),
        Err(error) => Err(error.to_string()),
    };
    for (text, wanted) in [
        ("m[5m]", 300_000),
        ("m[1001ms]", 1_001),
        ("m[-5m+35m]", 1_800_000),
        ("m[2m*(10+5)]", 1_800_000),
        ("m[1+(STep()-3)*2]", 5_000),
        ("m[range()/4 % 10]", 5_000),
        ("m[max_of(min_of(step(),1h),1ms)]", 5_000),
        ("m offset (2 ^ 2)", 4_000),
        ("m offset -step()", -5_000),
        ("m offset -(min_of(step(), 1s))", -1_000),
    ] {
        assert_eq!(length(text), Ok(wanted), "{text}");
    }
    // What stands behind an offset is an operator of its own.
    let power = Expression::parse_as("m offset 2 ^ 2", dialect).unwrap();
    assert!(matches!(power.what, Node::Binary(_)));
    for (text, word) in [
        ("m[step()-5]", "greater than 0"),
        ("m[1/0]", "infinite"),
        ("m[up]", "unexpected expression in duration"),
        ("m[1000y]", "out of range"),
    ] {
        assert!(length(text).unwrap_err().contains(word), "{text}");
    }
    for text in ["m[1m+1m]", "m[step()]", "m offset (1m)", "step()", "limitk(1, m)", "STEP()"] {
        assert!(Expression::parse(text).is_err(), "{text}");
    }
    let deep = |depth| format!("m{}1{}", "[m".repeat(depth), "]".repeat(depth));
    assert!(Expression::parse_as(&deep(200), dialect).is_err());
}

#[test]
fn trims_are_operators_like_comparisons() {
    let sign = |text: &str| match Expression::parse(text).unwrap().what {
        Node::Binary(binary) => binary.operator,
        other => panic!("{text}: {other:?}"),
    };
    assert_eq!(sign("h </ 2 + 1"), Operator::Trim { keeps_below: true });
    assert_eq!(sign("h >/ on(a) x"), Operator::Trim { keeps_below: false });
    assert_eq!(Expression::parse("h</2").unwrap().format(), "h </ 2");
    assert!(refusal("1 </ 2").contains("not allowed"), "{}", refusal("1 </ 2"));
}

#[test]
fn facts_are_selected_by_labels_alone() {
    let dialect = Dialect::Experimental { step_ms: 0, range_ms: 0 };
    let error =
        |text: &str| Expression::parse_as(text, dialect).map(|_| ()).map_err(|e| e.to_string());
    for text in ["info(m)", "info(m, {a=~'.*'})", "info(rate(m[5m]), {__name__=~'.+_info', b='c'})"]
    {
        assert_eq!(error(text), Ok(()), "{text}");
    }
    for text in ["info(m, up)", "info(m, {a='b'} offset 1m)", "info(m, -m)"] {
        assert!(error(text).unwrap_err().contains("expected label selectors only"), "{text}");
    }
    // Elsewhere any series is too many.
    assert!(error("count({a=~'.*'})").unwrap_err().contains("non-empty matcher"));
}
