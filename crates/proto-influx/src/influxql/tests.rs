use super::*;
use proptest::prelude::*;

/// The one statement of a query.
fn one(text: &str) -> Statement {
    let mut statements = parse(text, &Parameters::new()).unwrap_or_else(|error| {
        panic!("{text}: {error}");
    });
    assert_eq!(statements.len(), 1, "{text}");
    statements.remove(0)
}

/// Why a query is refused.
fn refuse(text: &str) -> String {
    parse(text, &Parameters::new()).unwrap_err().to_string()
}

#[test]
fn every_reserved_word_is_found_in_any_mixture_of_cases() {
    for word in scan::RESERVED {
        let mixed: String = word
            .chars()
            .enumerate()
            .map(|(at, c)| if at % 2 == 0 { c.to_ascii_lowercase() } else { c })
            .collect();
        assert_eq!(scan::reserved(&mixed), Some(word));
        assert_eq!(scan::reserved(&format!("{word}_")), None);
    }
}

/// Queries that are their own canonical spelling: all of the grammar, clause by clause.
const CANONICAL: &[&str] = &[
    "SELECT * FROM cpu",
    "SELECT *::tag, *::field FROM cpu",
    "SELECT a::float, b::integer, c::unsigned, d::string, e::boolean, f::field, g::tag FROM m",
    "SELECT a AS b, \"select\" AS \"x y\" FROM \"9 m\"",
    "SELECT /^a.*\\/b/ FROM /cpu|mem/",
    "SELECT a FROM db.rp.m, rp.m, db..m, db.rp./x/, rp./x/, m",
    "SELECT mean(a) INTO db.rp.b FROM m",
    "SELECT mean(a) INTO db.rp.:MEASUREMENT FROM /.*/",
    "SELECT mean(/x/), percentile(a, 99.5), top(a, host, 3), count(DISTINCT a) FROM m",
    "SELECT DISTINCT a FROM m",
    "SELECT a + b * 2 - c / 3 % 4 FROM m",
    "SELECT (a + b) * 2 FROM m",
    "SELECT a & 1 | b ^ 3 FROM m",
    "SELECT -1 * a, -5, -1.5, -2h FROM m",
    "SELECT a FROM m WHERE host = 'x' AND (region =~ /eu.*/ OR az !~ /b/) AND v != 1",
    "SELECT a FROM m WHERE v > 1 AND v >= 2.0 AND v < 3.5 AND v <= 4 OR b = true",
    "SELECT a FROM m WHERE time >= '2024-01-01T00:00:00Z' AND time < now() - 1h + 5m",
    "SELECT a FROM m WHERE s = 'it\\'s \\\\ \\n'",
    "SELECT mean(a) FROM m GROUP BY time(5m, 1m), host, /re/, *",
    "SELECT mean(a) FROM m GROUP BY time(1w) fill(none)",
    "SELECT mean(a) FROM m GROUP BY time(1d) fill(previous)",
    "SELECT mean(a) FROM m GROUP BY time(1s) fill(linear) ORDER BY time DESC",
    "SELECT mean(a) FROM m GROUP BY time(1ms) fill(-1) LIMIT 1 OFFSET 2 SLIMIT 3 SOFFSET 4",
    "SELECT mean(a) FROM m GROUP BY time(1u) fill(0.5) ORDER BY time ASC TZ('Europe/Berlin')",
    "SELECT max(b) FROM (SELECT mean(a) AS b FROM (SELECT a FROM m) GROUP BY host), n",
    "SELECT 18446744073709551615, -9223372036854775808, 9223372036854775807 FROM m",
    "EXPLAIN SELECT a FROM m",
    "EXPLAIN ANALYZE SELECT a FROM m",
    "EXPLAIN DELETE FROM cpu WHERE time < '2000-01-01'",
    "EXPLAIN DROP SERIES WHERE host = 'a'",
    "EXPLAIN DROP MEASUREMENT \"a b\"",
    "EXPLAIN DROP DATABASE db",
    "EXPLAIN DROP RETENTION POLICY rp ON db",
    "EXPLAIN ALTER RETENTION POLICY rp ON db DURATION 1h",
    "DELETE FROM cpu",
    "DELETE FROM rp.cpu WHERE time < '2000-01-01'",
    "DELETE WHERE host = 'a'",
    "DROP SERIES FROM /cpu/, mem WHERE host = 'a'",
    "DROP SERIES WHERE host = 'a'",
    "DROP MEASUREMENT \"a b\"",
    "SHOW DATABASES",
    "SHOW USERS",
    "SHOW GRANTS FOR jo",
    "SHOW QUERIES",
    "SHOW SHARDS",
    "SHOW SHARD GROUPS",
    "SHOW SUBSCRIPTIONS",
    "SHOW CONTINUOUS QUERIES",
    "SHOW STATS",
    "SHOW STATS FOR 'runtime'",
    "SHOW DIAGNOSTICS",
    "SHOW DIAGNOSTICS FOR 'build'",
    "SHOW RETENTION POLICIES",
    "SHOW RETENTION POLICIES ON db",
    "SHOW MEASUREMENTS",
    "SHOW MEASUREMENTS ON db WITH MEASUREMENT =~ /c.*/ WHERE host = 'a' LIMIT 1 OFFSET 2",
    "SHOW MEASUREMENTS WITH MEASUREMENT = cpu",
    "SHOW SERIES",
    "SHOW SERIES ON db FROM cpu, mem WHERE host = 'a' ORDER BY time DESC LIMIT 1 OFFSET 2",
    "SHOW FIELD KEYS",
    "SHOW FIELD KEYS ON db FROM rp.cpu, /m/ ORDER BY time ASC LIMIT 1 OFFSET 2",
    "SHOW TAG KEYS",
    "SHOW TAG KEYS ON db FROM m WITH KEY =~ /h/ WHERE a = 'b' LIMIT 1 OFFSET 2 SLIMIT 3 SOFFSET 4",
    "SHOW TAG VALUES WITH KEY = host",
    "SHOW TAG VALUES ON db FROM cpu WITH KEY IN (host, region) WHERE a = 'b' LIMIT 1 OFFSET 2",
    "SHOW TAG VALUES WITH KEY != host",
    "SHOW TAG VALUES WITH KEY !~ /x/",
    "SHOW SERIES CARDINALITY",
    "SHOW SERIES EXACT CARDINALITY ON db FROM cpu WHERE a = 'b' GROUP BY host LIMIT 1 OFFSET 2",
    "SHOW MEASUREMENT CARDINALITY ON db",
    "SHOW MEASUREMENT EXACT CARDINALITY",
    "SHOW FIELD KEY CARDINALITY",
    "SHOW FIELD KEY EXACT CARDINALITY FROM cpu",
    "SHOW TAG KEY CARDINALITY",
    "SHOW TAG KEY EXACT CARDINALITY ON db",
    "SHOW TAG VALUES CARDINALITY WITH KEY = host",
    "SHOW TAG VALUES EXACT CARDINALITY FROM cpu WITH KEY IN (a, b) GROUP BY host",
    "CREATE DATABASE db",
    "CREATE DATABASE db WITH DURATION 1d REPLICATION 1 SHARD DURATION 1h NAME rp",
    "CREATE DATABASE db WITH NAME rp",
    "DROP DATABASE db",
    "CREATE RETENTION POLICY rp ON db DURATION 1w REPLICATION 2 SHARD DURATION 1d DEFAULT",
    "CREATE RETENTION POLICY rp ON db DURATION 0s REPLICATION 1",
    "ALTER RETENTION POLICY rp ON db DURATION 1h REPLICATION 3 SHARD DURATION 2h DEFAULT",
    "ALTER RETENTION POLICY \"default\" ON db REPLICATION 4",
    "DROP RETENTION POLICY rp ON db",
    "CREATE CONTINUOUS QUERY q ON db BEGIN SELECT mean(a) INTO b FROM m GROUP BY time(1h), * END",
    "CREATE CONTINUOUS QUERY q ON db RESAMPLE EVERY 1m FOR 1h BEGIN SELECT a INTO b FROM m END",
    "DROP CONTINUOUS QUERY q ON db",
    "CREATE SUBSCRIPTION s ON db.rp DESTINATIONS ALL 'udp://a:1', 'udp://b:2'",
    "CREATE SUBSCRIPTION s ON db.rp DESTINATIONS ANY 'http://a'",
    "DROP SUBSCRIPTION s ON db.rp",
    "CREATE USER jo WITH PASSWORD '[REDACTED]'",
    "CREATE USER jo WITH PASSWORD '[REDACTED]' WITH ALL PRIVILEGES",
    "DROP USER jo",
    "SET PASSWORD FOR jo = '[REDACTED]'",
    "GRANT READ ON db TO jo",
    "GRANT WRITE ON db TO jo",
    "GRANT ALL PRIVILEGES ON db TO jo",
    "GRANT ALL PRIVILEGES TO jo",
    "REVOKE READ ON db FROM jo",
    "REVOKE ALL PRIVILEGES FROM jo",
    "DROP SHARD 7",
    "KILL QUERY 36",
    "KILL QUERY 36 ON host",
];

#[test]
fn canonical_queries_print_as_they_are() {
    for text in CANONICAL {
        assert_eq!(one(text).to_string(), *text);
    }
}

#[test]
fn other_spellings_mean_the_same() {
    for (text, canonical) in [
        ("select  mean ( a ) from m", "found (, expected FROM at line 1, char 14"),
        ("select mean( a ) from m", "SELECT mean(a) FROM m"),
        ("Select MEAN(a) From m -- all\n", "SELECT mean(a) FROM m"),
        ("SELECT a /* b */ FROM m", "SELECT a FROM m"),
        ("SELECT \"a\" FROM \"m\"", "SELECT a FROM m"),
        ("SELECT a.b FROM m", "SELECT \"a.b\" FROM m"),
        ("SELECT a FROM \"db\".\"rp\".\"m\"", "SELECT a FROM db.rp.m"),
        ("SELECT a FROM m WHERE a <> 1", "SELECT a FROM m WHERE a != 1"),
        ("SELECT -a, +b, -(c), -f(d) FROM m", "SELECT -1 * a, 1 * b, -1 * (c), -1 * f(d) FROM m"),
        ("SELECT 1., .5, 07 FROM m", "SELECT 1.0, 0.5, 7 FROM m"),
        ("SELECT distinct(a) FROM m", "SELECT distinct(a) FROM m"),
        ("SELECT a FROM m GROUP BY time(90m) fill(null)", "SELECT a FROM m GROUP BY time(90m)"),
        ("SELECT a FROM m ORDER BY DESC", "SELECT a FROM m ORDER BY time DESC"),
        ("SELECT a FROM m ORDER BY time", "SELECT a FROM m ORDER BY time ASC"),
        ("SELECT a FROM m tz('UTC')", "SELECT a FROM m TZ('UTC')"),
        ("SELECT a FROM m WHERE t = 1h30m5s10ms7u3ns", "SELECT a FROM m WHERE t = 5405010007003ns"),
        ("CREATE DATABASE x WITH DURATION inf", "CREATE DATABASE x WITH DURATION 0s"),
        ("GRANT ALL TO jo", "GRANT ALL PRIVILEGES TO jo"),
        (
            "ALTER RETENTION POLICY default ON db DEFAULT DURATION 2h",
            "ALTER RETENTION POLICY \"default\" ON db DURATION 2h DEFAULT",
        ),
    ] {
        let printed = match parse(text, &Parameters::new()) {
            Ok(statements) => statements[0].to_string(),
            Err(error) => error.to_string(),
        };
        assert_eq!(printed, canonical, "{text}");
    }
}

#[test]
fn operators_bind_as_in_influxdb() {
    for (text, nested) in [
        ("a + b * c", "(a + (b * c))"),
        ("a * b + c", "((a * b) + c)"),
        ("a - b - c", "((a - b) - c)"),
        ("a | b & c", "(a | (b & c))"),
        ("a = 1 OR b = 2 AND c = 3", "((a = 1) OR ((b = 2) AND (c = 3)))"),
        ("a = b + 1 AND c =~ /x/ OR d", "(((a = (b + 1)) AND (c =~ /x/)) OR d)"),
    ] {
        let Statement::Select(select) = one(&format!("SELECT x FROM m WHERE {text}")) else {
            panic!("{text}");
        };
        assert_eq!(nest(&select.condition.unwrap()), nested);
    }
}

/// An expression with parentheses around every operator.
fn nest(expr: &Expr) -> String {
    match expr {
        Expr::Binary { op, left, right } => {
            format!("({} {} {})", nest(left), op.text(), nest(right))
        }
        other => other.to_string(),
    }
}

/// Queries that are refused, and InfluxDB's reasons.
const ERRORS: &[(&str, &str)] = &[
    ("SELECT", "found EOF, expected identifier, string, number, bool at line 1, char 8"),
    ("SELECT a", "found EOF, expected FROM at line 1, char 10"),
    ("SELECT a FROM", "found EOF, expected identifier at line 1, char 15"),
    ("SELECT a\nFORM m", "found FORM, expected FROM at line 2, char 1"),
    (
        "blah",
        "found blah, expected SELECT, DELETE, SHOW, CREATE, DROP, EXPLAIN, GRANT, REVOKE, \
                  ALTER, SET, KILL at line 1, char 1",
    ),
    (
        "SELECT a FROM m WHERE",
        "found EOF, expected identifier, string, number, bool at line 1, char 23",
    ),
    ("SELECT a FROM m GROUP time(1h)", "found time, expected BY at line 1, char 23"),
    ("SELECT a FROM m LIMIT x", "found x, expected integer at line 1, char 23"),
    ("SELECT a FROM m ORDER BY a", "only ORDER BY time supported at this time"),
    ("SELECT a FROM m ORDER BY 1", "found 1, expected identifier, ASC, DESC at line 1, char 26"),
    ("EXPLAIN DROP USER jo", "DROP USER jo takes no samples away at line 1, char 9"),
    ("EXPLAIN ANALYZE DROP DATABASE d", "found DROP, expected SELECT at line 1, char 17"),
    ("SELECT a FROM m fill(x)", "expected number argument in fill()"),
    ("SELECT a FROM m fill()", "fill requires an argument, e.g.: 0, null, none, previous, linear"),
    ("SELECT a FROM m SELECT", "found SELECT, expected ; at line 1, char 17"),
    (
        "SELECT a = 1 FROM m",
        "invalid operator = in SELECT clause at line 1, char 8; operator is \
                                 intended for WHERE clause",
    ),
    ("SELECT a FROM m WHERE b =~ 'x'", "found x, expected regex at line 1, char 27"),
    ("SELECT mean(a) FROM m GROUP BY time(7q)", "invalid duration at line 1, char 37"),
    (
        "SELECT a FROM m WHERE b =~ /a{3,2}/",
        "error parsing regexp: invalid repeat count: `{3,2}` at line 1, char 27",
    ),
    ("SELECT count(a FROM m", "found FROM, expected ) at line 1, char 16"),
    (
        "SELECT a::x FROM m",
        "found x, expected float, integer, unsigned, string, boolean, field, \
                                tag at line 1, char 11",
    ),
    ("SELECT $a FROM m", "missing parameter: a"),
    ("SELECT a FROM a.b.c.d", "too many segments in a.b.c.d at line 1, char 1"),
    ("DELETE", "found EOF, expected FROM, WHERE at line 1, char 8"),
    ("DELETE FROM db.rp.m", "database not supported at line 1, char 1"),
    ("DROP SERIES FROM rp.m", "retention policy not supported at line 1, char 1"),
    (
        "SHOW FOO",
        "found FOO, expected CONTINUOUS, DATABASES, DIAGNOSTICS, FIELD, GRANTS, \
                      MEASUREMENT, MEASUREMENTS, QUERIES, RETENTION, SERIES, SHARD, SHARDS, STATS, \
                      SUBSCRIPTIONS, TAG, USERS at line 1, char 6",
    ),
    ("SHOW TAG VALUES", "found EOF, expected WITH at line 1, char 17"),
    ("SHOW TAG KEY x", "found x, expected EXACT, CARDINALITY at line 1, char 14"),
    (
        "CREATE DATABASE x WITH",
        "found EOF, expected DURATION, NAME, REPLICATION, SHARD at line 1, char 24",
    ),
    (
        "CREATE RETENTION POLICY a ON b DURATION 1h REPLICATION 0",
        "invalid value 0: must be 1 <= n <= 2147483647 at line 1, char 56",
    ),
    (
        "CREATE RETENTION POLICY a ON b DURATION bad",
        "found bad, expected duration at line 1, char 41",
    ),
    (
        "ALTER RETENTION POLICY a ON b",
        "found EOF, expected DURATION, REPLICATION, SHARD, DEFAULT at \
                                           line 1, char 31",
    ),
    (
        "ALTER RETENTION POLICY a ON b DEFAULT DEFAULT",
        "found duplicate DEFAULT option at line 1, char 39",
    ),
    ("GRANT BOGUS", "found BOGUS, expected READ, WRITE, ALL [PRIVILEGES] at line 1, char 7"),
    ("GRANT READ TO jo", "found TO, expected ON at line 1, char 12"),
    ("GRANT ALL jo", "found jo, expected ON, TO at line 1, char 11"),
    ("KILL QUERY x", "found x, expected integer at line 1, char 12"),
    (
        "CREATE CONTINUOUS QUERY q ON d RESAMPLE FOR 5s BEGIN SELECT mean(v) INTO m FROM c \
          GROUP BY time(10s) END",
        "FOR duration must be >= GROUP BY time duration: must be a minimum of 10s, got 5s",
    ),
    (
        "SELECT 'a FROM m",
        "found a FROM m, expected identifier, string, number, bool at line 1, char 7",
    ),
];

#[test]
fn errors_are_worded_and_placed_as_in_influxdb() {
    for (text, error) in ERRORS {
        assert_eq!(refuse(text), *error, "{text}");
    }
}

#[test]
fn statements_are_parted_by_semicolons() {
    let statements = parse(";SHOW USERS;; SHOW DATABASES ;", &Parameters::new()).unwrap();
    assert_eq!(statements, [Statement::Show(Show::Users), Statement::Show(Show::Databases)]);
    assert_eq!(parse("  -- nothing", &Parameters::new()), Ok(Vec::new()));
}

#[test]
fn passwords_are_parsed_but_not_printed() {
    let statement = one("CREATE USER jo WITH PASSWORD 'secret'");
    assert!(matches!(&statement, Statement::CreateUser { password, .. } if password == "secret"));
    assert!(!statement.to_string().contains("secret"));
}

#[test]
fn a_count_that_a_parameter_says_is_not_negative() {
    let bound = |count| Parameters::from_iter([("n".to_owned(), Parameter::Integer(count))]);
    for word in ["LIMIT", "OFFSET", "SLIMIT"] {
        let text = format!("SELECT v FROM m {word} $n");
        assert!(parse(&text, &bound(5)).is_ok());
        let error = parse(&text, &bound(-5)).unwrap_err().to_string();
        assert!(error.starts_with(&format!("{word} must be >= 0 at line 1, char ")), "{error}");
    }
}

#[test]
fn parameters_stand_for_values() {
    let parameters: Parameters = [
        ("h", Parameter::String("a'b".to_owned())),
        ("n", Parameter::Integer(-3)),
        ("r", Parameter::Regex("x.*".to_owned())),
        ("f", Parameter::Identifier("a b".to_owned())),
        ("d", Parameter::Duration(60_000_000_000)),
        ("t", Parameter::Boolean(true)),
        ("q", Parameter::Number(0.5)),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .into();
    let text = "SELECT $f FROM m WHERE h = $h AND v > $q AND b = $t AND r =~ $r GROUP BY time($d)";
    assert_eq!(
        parse(text, &parameters).unwrap()[0].to_string(),
        "SELECT \"a b\" FROM m WHERE h = 'a\\'b' AND v > 0.5 AND b = true AND r =~ /x.*/ \
         GROUP BY time(1m)"
    );
}

#[test]
fn depth_and_operators_are_limited() {
    let deep = |levels: usize| {
        format!("SELECT a FROM m WHERE {}1{}", "(".repeat(levels), ")".repeat(levels))
    };
    one(&deep(90));
    assert!(refuse(&deep(100_000)).contains("levels"));
    let signs = format!("SELECT {}a FROM m", "-".repeat(1_000));
    assert!(parse(&signs.replace("--", "- - "), &Parameters::new()).is_err());
    let long = |terms: usize| format!("SELECT a FROM m WHERE {}1", "a = 1 OR ".repeat(terms));
    one(&long(900));
    assert!(refuse(&long(100_000)).contains("more than 2000 operators"));
    // What cannot be joined in another order stays as high as it is long.
    let high = |terms: usize| format!("SELECT a{} FROM m", " + a".repeat(terms));
    one(&high(190));
    assert!(refuse(&high(210)).contains("200 operators on one another"));
    let nested = |levels: usize| {
        let (open, close) = ("(SELECT a FROM ".repeat(levels), ")".repeat(levels));
        format!("SELECT a FROM {open}m{close}")
    };
    one(&nested(20));
    assert!(refuse(&nested(21)).contains("20 levels of subqueries"));
    assert!(refuse(&nested(100_000)).contains("20 levels of subqueries"));
}

#[test]
fn long_chains_keep_their_order_and_print_as_they_were() {
    for op in ["AND", "OR"] {
        for terms in 1..40 {
            let all: Vec<String> = (0..terms).map(|term| format!("a = {term}")).collect();
            let text = format!("SELECT a FROM m WHERE {}", all.join(&format!(" {op} ")));
            assert_eq!(one(&text).to_string(), text);
        }
    }
}

proptest! {
    #[test]
    fn any_text_is_parsed_or_refused(text in "\\PC{0,80}") {
        let _ = parse(&text, &Parameters::new());
    }

    /// Words of the grammar in any order: what is accepted prints as text that means the same.
    #[test]
    fn what_is_printed_means_the_same(
        words in proptest::collection::vec(0..CANONICAL.len() * 40, 1..12),
    ) {
        let all: Vec<&str> = CANONICAL.iter().flat_map(|text| text.split(' ')).collect();
        let text: Vec<&str> = words.iter().map(|word| all[word % all.len()]).collect();
        for text in [text.join(" "), format!("SELECT a FROM m WHERE {}", text.join(" "))] {
            if let Ok(statements) = parse(&text, &Parameters::new()) {
                for statement in statements {
                    let printed = statement.to_string();
                    prop_assert_eq!(one(&printed).to_string(), printed);
                }
            }
        }
    }
}
