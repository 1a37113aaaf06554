//! SQL through the real binary: answers, refusals, and the ways to ask.

use crate::harness;
use crate::harness::{Response, Scratch, Server};
use serde_json::{Value as Json, json};
use std::time::Instant;

/// Rows of three hosts: one has a label more, and no row has all fields.
const LINES: &str = "cpu,host=a,dc=eu usage=1.5,load=3i 1767225600\n\
                     cpu,host=a,dc=eu usage=2.5,load=4i 1767225660\n\
                     cpu,host=a,dc=eu usage=3.5 1767225720\n\
                     cpu,host=b usage=10,load=1i 1767225600\n\
                     cpu,host=b usage=20,load=2i,up=true,note=\"ok\" 1767225660\n\
                     cpu,host=c load=7i 1767225660\n";

const ANSWERS: &str = include_str!("../testdata/sql/answers.txt");
const REFUSALS: &str = include_str!("../testdata/sql/refusals.txt");

fn start(dir: &Scratch) -> Server {
    let server = Server::start(dir.path(), &[]);
    assert_eq!(server.post("/api/v3/write_lp?db=d&precision=second", LINES).status, 204);
    let put = r#"[{"metric":"sys.load","timestamp":1767225600,"value":2.5,"tags":{"host":"a"}}]"#;
    assert_eq!(server.post("/api/put?db=d", put).status, 204);
    server
}

fn post(server: &Server, path: &str, body: &Json) -> Response {
    let headers = [("Content-Type", "application/json")];
    server.request("POST", path, &headers, body.to_string().as_bytes())
}

fn ask(server: &Server, statement: &str, format: &str) -> Response {
    let body = json!({"db": "d", "q": statement, "format": format});
    post(server, "/api/v3/query_sql", &body)
}

/// Statements of a file, each with the lines behind it.
fn statements(text: &str) -> Vec<(&str, Vec<&str>)> {
    let mut found: Vec<(&str, Vec<&str>)> = Vec::new();
    for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        match (line.strip_prefix("> "), found.last_mut()) {
            (Some(statement), _) => found.push((statement, Vec::new())),
            (None, Some((_, lines))) => lines.push(if line == "." { "" } else { line }),
            (None, None) => panic!("{line}: there is no statement before it"),
        }
    }
    found
}

#[test]
fn statements_have_the_answers_that_were_reckoned_by_hand() {
    let dir = Scratch::new();
    let server = start(&dir);
    let statements = statements(ANSWERS);
    assert!(statements.len() >= 60, "{}", statements.len());
    for (statement, expected) in statements {
        let answer = ask(&server, statement, "csv");
        assert_eq!(answer.status, 200, "{statement}: {}", answer.text());
        let expected: String = expected.iter().map(|line| format!("{line}\n")).collect();
        assert_eq!(answer.text(), expected, "{statement}");
    }
    server.stop();
}

#[test]
fn what_is_refused_says_where_and_what_to_write() {
    let dir = Scratch::new();
    let server = start(&dir);
    let statements = statements(REFUSALS);
    assert!(statements.len() >= 25, "{}", statements.len());
    for (statement, expected) in statements {
        let answer = ask(&server, statement, "csv");
        assert_eq!(answer.status, 400, "{statement}: {}", answer.text());
        let said: Json = serde_json::from_str(&answer.text()).unwrap();
        let said = said["error"].as_str().unwrap();
        assert!(said.contains(expected[0]), "{statement}: {said}");
    }
    let missing = json!({"db": "nope", "q": "SELECT 1"});
    let answer = post(&server, "/api/v3/query_sql", &missing);
    assert_eq!(answer.status, 404, "{}", answer.text());
    assert!(answer.text().contains("database not found: nope"), "{}", answer.text());
    let answer = server.get("/api/v3/query_sql?q=SELECT+1");
    assert_eq!((answer.status, answer.text().contains("database name required")), (400, true));
    server.stop();
}

/// The same over files: what was flushed and read back has the same answers.
#[test]
fn answers_stay_when_samples_have_become_files() {
    let dir = Scratch::new();
    let server = start(&dir);
    let statements = statements(ANSWERS);
    server.stop();
    let server = Server::start(dir.path(), &[]);
    for (statement, expected) in statements {
        let answer = ask(&server, statement, "csv");
        let expected: String = expected.iter().map(|line| format!("{line}\n")).collect();
        assert_eq!(answer.text(), expected, "{statement}");
    }
    server.stop();
}

#[test]
fn answers_have_the_formats_of_influxdb_3_and_texts_may_have_values_bound() {
    let dir = Scratch::new();
    let server = start(&dir);
    let statement = "SELECT time, host, usage, load FROM cpu WHERE host >= 'b' ORDER BY time, host";
    let rows: Json = serde_json::from_str(&ask(&server, statement, "json").text()).unwrap();
    let expected = json!([
        {"time": "2026-01-01T00:00:00", "host": "b", "usage": 10.0, "load": 1},
        {"time": "2026-01-01T00:01:00", "host": "b", "usage": 20.0, "load": 2},
        {"time": "2026-01-01T00:01:00", "host": "c", "load": 7},
    ]);
    assert_eq!(rows, expected);
    let lines = ask(&server, "SELECT host FROM cpu WHERE usage > 5", "jsonl");
    assert_eq!(lines.text(), "{\"host\":\"b\"}\n{\"host\":\"b\"}\n");
    assert_eq!(lines.header("content-type"), "application/jsonl");
    let drawn = ask(&server, "SELECT max(usage) AS m FROM cpu", "pretty");
    assert_eq!(drawn.text(), "+------+\n| m    |\n+------+\n| 20.0 |\n+------+");
    assert_eq!(ask(&server, "SELECT host FROM cpu WHERE host = 'x'", "json").text(), "[]");
    let asked = server.get("/api/v3/query_sql?db=d&format=csv&q=SELECT+count(*)+AS+n+FROM+cpu");
    assert_eq!(asked.text(), "n\n6\n");
    let bound = json!({"db": "d", "format": "csv", "params": {"h": "b", "least": 15},
        "q": "SELECT usage FROM cpu WHERE host = $h AND usage > $least"});
    assert_eq!(post(&server, "/api/v3/query_sql", &bound).text(), "usage\n20.0\n");
    let bound =
        json!({"db": "d", "format": "csv", "params": {"n": u64::MAX}, "q": "SELECT $n AS n"});
    let most = post(&server, "/api/v3/query_sql", &bound).text();
    assert_eq!(most, "n\n18446744073709551615\n");
    let drawn = ask(&server, r"SELECT E'a\nb' AS x", "pretty");
    assert_eq!(drawn.text(), "+------+\n| x    |\n+------+\n| a\\nb |\n+------+");
    server.stop();
}

/// The samples: two hosts, of fields that are not always there.
#[test]
fn explain_tells_what_is_read_by_its_names() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    let lines = "soil,bed=a ph=1,wet=2 60\nsoil,bed=a ph=3 120\nsoil,bed=b wet=5 60";
    assert_eq!(server.post("/write?db=d&precision=s", lines).status, 204);
    let rows = |statement: &str| {
        let body = json!({"db": "d", "format": "csv", "q": statement});
        let answer = post(&server, "/api/v3/query_sql", &body);
        assert_eq!(answer.status, 200, "{statement}: {}", answer.text());
        answer.text().replace('"', "").lines().skip(1).map(str::to_owned).collect::<Vec<_>>()
    };
    for (statement, steps) in [
        ("SELECT avg(ph) FROM soil", vec!["fold mean(ph) of soil"]),
        (
            "SELECT bed, avg(ph) FROM soil GROUP BY bed",
            vec!["fold mean(ph) of soil by bed, groups without values by wet"],
        ),
        (
            "SELECT avg(ph) / 2, bed, count(wet) FROM soil GROUP BY bed",
            vec![
                "calculate mean(ph) / 2, bed, coalesce(count(wet), 0)",
                "  calculate bed, mean(ph), coalesce(count(wet), 0)",
                "    fold mean(ph), count(wet) of soil by bed",
            ],
        ),
        (
            "SELECT bed, max(ph - wet) AS m FROM soil WHERE ph > wet GROUP BY bed \
             HAVING count(*) > 1 ORDER BY m DESC",
            vec![
                "sort by max(ph - wet) descending",
                "  calculate bed, max(ph - wet)",
                "    keep rows where count(rows) > 1",
                "      group by bed: max(ph - wet), count(rows)",
                "        keep rows where ph > wet",
                "          read soil.ph, soil.wet",
            ],
        ),
    ] {
        let told = rows(&format!("EXPLAIN {statement}"));
        assert_eq!(told, steps, "{statement}");
    }
    // One row in any case; a group is there also where its values are not.
    assert_eq!(rows("SELECT avg(ph) AS m, count(ph) AS n FROM soil"), ["2.0,2"]);
    assert_eq!(rows("SELECT avg(ph) AS m, count(ph) AS n FROM soil WHERE bed = 'b'"), [",0"]);
    assert_eq!(rows("SELECT count(ph) AS n FROM soil WHERE time > now()"), ["0"]);
    assert_eq!(rows("SELECT bed, avg(ph) FROM soil GROUP BY bed ORDER BY bed"), ["a,2.0", "b,"]);
    let samples = |statement: &str| {
        let told = rows(&format!("EXPLAIN ANALYZE {statement}"));
        let samples = told[0].rsplit(' ').nth(2).unwrap();
        samples.parse::<u64>().unwrap_or_else(|error| panic!("{told:?}: {error}"))
    };
    assert_eq!(samples("SELECT avg(ph) FROM soil"), 2);
    assert_eq!(samples("SELECT bed, avg(ph) FROM soil GROUP BY bed"), 4);
    let told = rows("EXPLAIN ANALYZE SELECT DISTINCT bed FROM soil");
    let is_told = |line: &str, part: &str| assert!(line.contains(part), "{told:?}");
    is_told(&told[0], "distinct bed (");
    is_told(&told[0], " ms by itself, 3 rows in, 2 rows out, 4 samples read)");
    is_told(&told[1], "  calculate bed (");
    is_told(&told[2], " ms by itself, 3 rows out, 4 samples read)");
    is_told(&told[3], "planning: ");
    is_told(&told[4], "all steps: ");
    assert_eq!(told.len(), 5, "{told:?}");
    server.stop();
}

#[test]
fn each_operator_tells_how_many_rows_came_in_and_went_out() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    let lines = "soil,bed=a ph=1,wet=0 60\nsoil,bed=a ph=2,wet=0 120\nsoil,bed=a ph=3,wet=0 180\n\
                 soil,bed=b ph=4,wet=0 60\nsoil,bed=b ph=0,wet=0 120\nsoil,bed=c ph=9,wet=0 60";
    assert_eq!(server.post("/write?db=d&precision=s", lines).status, 204);
    let told = |text: &str| {
        let body = json!({"language": "sql", "text": text, "explain": true});
        let answer = post(&server, "/api/foliot/v1/query?db=d", &body);
        assert_eq!(answer.status, 200, "{}", answer.text());
        let answer: Json = serde_json::from_str(&answer.text()).unwrap();
        let mut told = Vec::new();
        let mut next = answer["tree"].clone();
        while next.is_object() {
            let rows = |name: &str| next["took"][name].as_u64();
            told.push((next["what"].as_str().unwrap().to_owned(), rows("rows_in"), rows("rows")));
            next = next["steps"].get(0).cloned().unwrap_or_default();
        }
        told
    };
    let step = |what: &str, rows_in: Option<u64>, rows: u64| (what.to_owned(), rows_in, Some(rows));
    // Five rows pass, of three beds; two of these have more than 3, and one is wanted.
    let text = "SELECT bed, max(ph - wet) AS m FROM soil WHERE ph > wet GROUP BY bed \
                HAVING max(ph - wet) > 3 ORDER BY m DESC LIMIT 1";
    let expected = [
        step("limit", Some(1), 1),
        step("sort", Some(2), 1),
        step("keep", Some(3), 2),
        step("group", Some(5), 3),
        step("keep", Some(6), 5),
        step("read", None, 6),
    ];
    assert_eq!(told(text), expected);
    // A fold of blocks comes to its groups.
    let fold = told("SELECT bed, avg(ph) FROM soil GROUP BY bed");
    assert_eq!((&*fold[0].0, fold[0].2), ("fold", Some(3)), "{fold:?}");
    let fold = told("SELECT count(ph) AS n FROM soil");
    assert_eq!(fold.iter().find(|(what, ..)| what == "fold").unwrap().2, Some(1), "{fold:?}");
    let all = told("SELECT DISTINCT bed FROM soil");
    assert_eq!(all[0], step("distinct", Some(6), 3), "{all:?}");
    // What is behind the last row that is wanted is not read.
    let some = told("SELECT DISTINCT bed FROM soil LIMIT 2");
    assert_eq!(some[0], step("limit", Some(2), 2), "{some:?}");
    server.stop();
}

#[test]
fn the_query_api_has_one_table_whose_columns_have_kinds() {
    let dir = Scratch::new();
    let server = start(&dir);
    let query = |body: Json| {
        let answer = post(&server, "/api/foliot/v1/query?db=d", &body);
        (answer.status, serde_json::from_str::<Json>(&answer.text()).unwrap())
    };
    let text = "SELECT date_bin($step, time) AS t, host, avg(usage) AS u, count(*) AS n FROM cpu \
                WHERE time >= $start AND time < $end GROUP BY t, host ORDER BY t, host";
    let range = json!({"language": "sql", "text": text, "start_ms": 1_767_225_600_000_i64,
        "end_ms": 1_767_225_660_000_i64, "step_ms": 60_000});
    let (status, answer) = query(range.clone());
    assert_eq!(status, 200, "{answer}");
    let rows = json!([[1_767_225_600_000_i64, "a", 1.5, 1], [1_767_225_600_000_i64, "b", 10.0, 1]]);
    let table = json!({"name": "", "labels": {}, "columns": ["t", "host", "u", "n"],
        "kinds": ["time", "string", "float", "integer"], "rows": rows});
    assert_eq!((&answer["series"], &answer["tables"]), (&json!([]), &json!([table])));
    let mut explained = range;
    explained["explain"] = true.into();
    explained["unit"] = "ns".into();
    let (_, answer) = query(explained);
    assert_eq!(answer["tables"][0]["rows"][0][0], "1767225600000000000");
    assert_eq!(answer["tree"]["what"], "sort");

    // A check reads names, too, and asks nothing.
    let check = |text: &str| query(json!({"language": "sql", "text": text, "check": true})).1;
    assert_eq!(check("SELECT usage FROM cpu")["wrong"], Json::Null);
    assert_eq!(check("SELECT usage FROM cpu").get("tables"), None);
    let wrong = check("SELECT host,\n  usag FROM cpu");
    assert_eq!(wrong["wrong"]["position"], json!({"line": 2, "column": 3}));
    let wrong = check("SELECT usage FROM cpu WHERE");
    assert!(wrong["wrong"]["message"].as_str().unwrap().contains("expected"), "{wrong}");
    let (status, answer) = query(json!({"language": "sql", "text": "SELECT hos FROM cpu"}));
    assert_eq!((status, &answer["error"]["position"]["column"]), (400, &json!(8)));

    // What was asked is listed in its language.
    let costs = server.get("/api/foliot/v1/queries/costs?db=d").text();
    assert!(costs.contains("\"language\":\"sql\""), "{costs}");
    server.stop();
}

#[test]
fn limits_hold() {
    let dir = Scratch::new();
    let limits = ["--set", "limits.query_memory_bytes=1048576", "--set", "influx.series_max=50"];
    let server = Server::start(dir.path(), &limits);
    let mut lines = String::new();
    for host in 0..60 {
        for at in 0..500 {
            lines.push_str(&format!("m,host=h{host} v={at} {at}\n"));
        }
    }
    assert_eq!(server.post("/api/v3/write_lp?db=d&precision=second", &lines).status, 204);
    let refused = |statement: &str, setting: &str| {
        let answer = ask(&server, statement, "csv");
        assert_eq!(answer.status, 413, "{statement}: {}", answer.text());
        assert!(answer.text().contains(setting), "{statement}: {}", answer.text());
    };
    refused("SELECT count(*) FROM m", "influx.series_max");
    let few = "host IN ('h1', 'h2', 'h3', 'h4', 'h5', 'h6', 'h7', 'h8', 'h9', 'h10', 'h11', 'h12')";
    refused(&format!("SELECT * FROM m WHERE {few} ORDER BY v"), "limits.query_memory_bytes");
    refused(
        &format!(
            "SELECT count(*) FROM (SELECT DISTINCT concat(host, '{}', v) FROM m WHERE {few}) AS s",
            "-".repeat(60)
        ),
        "limits.query_memory_bytes",
    );
    refused(
        &format!("SELECT v * 2, host, count(*) FROM m WHERE {few} GROUP BY 1, 2"),
        "limits.query_memory_bytes",
    );
    // A row that is printed is held once more.
    let sixteen = "a".repeat(16);
    let long = format!("replace(replace('{sixteen}', 'a', '{sixteen}'), 'a', '{sixteen}')");
    let wide = format!("SELECT {} FROM (SELECT {long} AS c) AS s", vec!["c"; 400].join(", "));
    refused(&wide, "limits.query_memory_bytes");
    // The first few rows are all that is held.
    let sorted = format!("SELECT v FROM m WHERE {few} ORDER BY v DESC, host LIMIT 2");
    assert_eq!(ask(&server, &sorted, "csv").text(), "v\n499.0\n499.0\n");
    server.stop();
}

#[test]
fn foliot_query_takes_sql() {
    let dir = Scratch::new();
    let server = start(&dir);
    let url = format!("http://{}", server.address);
    let query = |format: &str, statement: &str| {
        let arguments =
            ["query", "--url", &url, "--db", "d", "--language", "sql", "--format", format];
        let run = harness::foliot().args(arguments).arg(statement).output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (run.status.success(), text(&run.stdout), text(&run.stderr))
    };
    let statement = "SELECT host, max(usage) AS m FROM cpu GROUP BY host ORDER BY host";
    let (_, table, _) = query("table", statement);
    assert!(table.starts_with("host  m\na     3.5\nb     20.0\nc\n"), "{table}");
    let (_, csv, _) = query("csv", statement);
    assert_eq!(csv, "host,m\r\na,3.5\r\nb,20.0\r\nc,\r\n");
    let (_, json, _) = query("json", statement);
    assert_eq!(json.lines().nth(1), Some(r#"{"host":"b","m":20.0}"#));
    let (is_answered, _, said) = query("csv", "SELECT hos FROM cpu");
    assert!(!is_answered && said.contains("did you mean host?"), "{said}");
    server.stop();
}

/// Whatever stands in one another or behind one another, so often, is answered or refused: the
/// server stands.
#[test]
fn long_and_deep_statements_end_no_server() {
    let dir = Scratch::new();
    let server = start(&dir);
    let nested = |open: &str, inside: &str, close: &str, times: usize| {
        format!("{}{inside}{}", open.repeat(times), close.repeat(times))
    };
    let names = |times: usize, each: &dyn Fn(usize) -> String| -> String {
        (0..times).map(each).collect::<Vec<_>>().join(", ")
    };
    for times in [18, 490, 24_000] {
        let operators = [
            "+",
            "-",
            "*",
            "/",
            "%",
            "^",
            "&",
            "|",
            "#",
            "=",
            "<>",
            "<",
            ">=",
            "||",
            "~",
            "~*",
            "LIKE",
            "ILIKE",
            "AND",
            "OR",
            "IS DISTINCT FROM",
            "->",
            "@>",
            "<<",
        ];
        let mut bodies: Vec<String> = Vec::new();
        for operator in operators {
            bodies.push(format!("1{}", format!(" {operator} 1").repeat(times)));
            bodies.push(format!("load{}", format!(" {operator} load").repeat(times)));
            bodies.push(format!("'a'{}", format!(" {operator} host").repeat(times)));
        }
        for prefix in ["NOT ", "- ", "+ ", "~ ", "EXTRACT(epoch FROM ", "INTERVAL ", "CAST("] {
            bodies.push(format!("{}load", prefix.repeat(times)));
        }
        for suffix in ["::text", "::float::int", " IS NULL", " IS NOT TRUE", " COLLATE x", ".x"] {
            bodies.push(format!("load{}", suffix.repeat(times)));
        }
        for suffix in [
            " AT TIME ZONE 'UTC'",
            " BETWEEN 1 AND 2",
            " IN (1)",
            "[1]",
            " NOTNULL",
            " ISNULL",
            " NOT NULL",
        ] {
            bodies.push(format!("load{}", suffix.repeat(times)));
        }
        for (open, close) in [
            ("(", ")"),
            ("abs(", ")"),
            ("coalesce(load, ", ")"),
            ("nullif(", ", load)"),
            ("(", " IN (load, usage))::int"),
            ("(", " BETWEEN load AND usage)::int"),
            ("(", " IS DISTINCT FROM load)::int"),
            ("(", " IS NOT DISTINCT FROM load)::int"),
            ("CASE WHEN up THEN ", " END"),
            ("CASE ", " WHEN load THEN 1 WHEN 2 THEN 2 END"),
            ("CASE load WHEN 1 THEN ", " ELSE 2 END"),
            ("(SELECT ", ")"),
            ("sum(", ")"),
            ("(", " || 'x')"),
            ("upper(", ")::text"),
            ("date_bin('1 hour', ", ")"),
            ("EXISTS (SELECT ", ")"),
            ("ARRAY[", "]"),
            ("-(", ")"),
            ("NOT (", " > 1)"),
            ("substring(", " FROM 1)"),
        ] {
            bodies.push(nested(open, "load", close, times));
        }
        bodies.push(format!("load IN ({})", names(times, &|_| "usage".to_owned())));
        bodies.push(format!("1 IN ({})", names(times, &|_| "load".to_owned())));
        bodies.push(format!("load IN ({})", names(times, &|at| at.to_string())));
        bodies.push(format!("coalesce({})", names(times, &|_| "load".to_owned())));
        bodies.push(names(times, &|_| "load".to_owned()));
        bodies.push(names(times, &|_| "*".to_owned()));
        bodies.push(format!("CASE{} END", " WHEN up THEN 1".repeat(times)));
        let mut statements: Vec<String> = Vec::new();
        for body in &bodies {
            statements.push(format!("SELECT {body} FROM cpu"));
            statements.push(format!("SELECT count(*) FROM cpu WHERE {body}"));
            statements.push(format!("SELECT max(usage) FROM cpu GROUP BY {body} ORDER BY {body}"));
        }
        let chain = names(times, &|at| match at {
            0 => "q0 AS (SELECT load FROM cpu)".to_owned(),
            at => format!("q{at} AS (SELECT load FROM q{})", at - 1),
        });
        statements.push(format!("WITH {chain} SELECT load FROM q{}", times - 1));
        let apart = names(times, &|at| format!("q{at} AS (SELECT load FROM cpu)"));
        statements.push(format!("WITH {apart} SELECT load FROM q{}", times - 1));
        statements.push(format!(
            "WITH {}",
            nested("x AS (WITH ", "y AS (SELECT 1)", " SELECT 1)", times)
        ));
        for (open, close) in [("(SELECT * FROM ", ") AS x"), ("(", ")"), ("cpu JOIN (", ") AS x")] {
            statements.push(format!("SELECT * FROM {}", nested(open, "cpu", close, times)));
        }
        for repeated in [
            " UNION SELECT 1",
            " MINUS SELECT 1",
            " EXCEPT SELECT 1",
            " JOIN cpu ON TRUE",
            ", cpu",
            " FROM cpu",
        ] {
            statements.push(format!("SELECT 1{}", repeated.repeat(times)));
        }
        statements.push(format!("{}SELECT 1", "EXPLAIN ".repeat(times)));
        statements.push(format!("{}SELECT 1", "(".repeat(times)));
        statements.push("SELECT 1; ".repeat(times));
        for statement in statements {
            let began = Instant::now();
            let answer = ask(&server, &statement, "csv");
            let start: String = statement.chars().take(70).collect();
            let took = began.elapsed();
            assert!([200, 400, 413].contains(&answer.status), "{times}: {start}: {answer:?}");
            assert!(took.as_secs() < 3, "{times} times took {took:?}: {start}");
        }
    }
    server.stop();
}

/// 3 * (2^63 - 1) = 27670116110564327421, which no integer holds: PostgreSQL answers a numeric, and
/// this a float. It does so whether blocks, rows or groups of rows are folded.
#[test]
fn sums_and_means_of_great_integers_do_not_wrap_around() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    let great = i64::MAX;
    let lines = format!(
        "big,host=a n={great}i,u={0}u 1\nbig,host=a n={great}i,u={0}u 2\nbig,host=b n={great}i 1\n",
        u64::MAX
    );
    assert_eq!(server.post("/api/v3/write_lp?db=d&precision=second", &lines).status, 204);
    let row = |statement: &str| {
        let answer = ask(&server, statement, "jsonl");
        assert_eq!(answer.status, 200, "{statement}: {}", answer.text());
        serde_json::from_str::<Json>(answer.text().lines().next().unwrap()).unwrap()
    };
    for of in ["n", "n + 0", "CASE WHEN host IS NULL THEN 0 ELSE n END"] {
        let told = row(&format!("SELECT sum({of}) AS s, avg({of}) AS a FROM big"));
        assert_eq!(told["s"].as_f64(), Some(27_670_116_110_564_327_421.0), "{of}: {told}");
        assert_eq!(told["a"].as_f64(), Some(9_223_372_036_854_775_807.0), "{of}: {told}");
        let statement = format!("SELECT host, sum({of}) AS s FROM big GROUP BY host ORDER BY host");
        assert_eq!(row(&statement)["s"].as_f64(), Some(18_446_744_073_709_551_614.0), "{of}");
    }
    let told = row("SELECT sum(u) AS s, avg(u) AS a, stddev(n) AS d FROM big");
    assert_eq!(told["s"].as_f64(), Some(36_893_488_147_419_103_230.0), "{told}");
    assert_eq!(told["a"].as_f64(), Some(18_446_744_073_709_551_615.0), "{told}");
    assert_eq!(told["d"].as_f64(), Some(0.0), "{told}");
    // InfluxQL wraps around, as InfluxDB does: -3 modulo 2^64 of the sum is 2^63 - 3.
    let answer = server.get("/query?db=d&q=SELECT%20sum(n)%20FROM%20big");
    assert!(answer.text().contains(&(i64::MAX - 2).to_string()), "{}", answer.text());
    server.stop();
}

/// Named queries that name one another several times would have more parts than anybody can read.
#[test]
fn unions_of_unions_are_counted() {
    let dir = Scratch::new();
    let server = start(&dir);
    let mut names = "q0 AS (SELECT load FROM cpu)".to_owned();
    for at in 1..14 {
        let read = format!("SELECT load FROM q{}", at - 1);
        names.push_str(&format!(", q{at} AS ({read}{})", format!(" UNION ALL {read}").repeat(20)));
    }
    let began = Instant::now();
    let answer = ask(&server, &format!("WITH {names} SELECT count(*) FROM q13"), "csv");
    assert_eq!(answer.status, 400, "{}", answer.text());
    assert!(answer.text().contains("more than 500 tables"), "{}", answer.text());
    assert!(began.elapsed().as_secs() < 3, "{:?}", began.elapsed());
    // Four times the six rows.
    let names = "q0 AS (SELECT load FROM cpu), q1 AS (SELECT load FROM q0 UNION ALL SELECT load FROM \
                 q0), q2 AS (SELECT load FROM q1 UNION ALL SELECT load FROM q1)";
    let answer = ask(&server, &format!("WITH {names} SELECT count(*) AS n FROM q2"), "csv");
    assert_eq!(answer.text(), "n\n24\n");
    let lines = ask(&server, &format!("EXPLAIN WITH {names} SELECT load FROM q2"), "csv");
    assert_eq!(lines.text().matches("read ").count(), 4, "{}", lines.text());
    server.stop();
}

/// Whole numbers and floats at their ends compare as the numbers that they are, whether rows or
/// what reads them test it.
#[test]
fn numbers_of_all_kinds_compare_as_numbers() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    let integers = [i64::MIN, i64::MIN + 1, -1, 0, 1, 2, 1 << 53, i64::MAX - 1, i64::MAX];
    let unsigned = [0, 1, 2, 1 << 53, i64::MAX as u64, i64::MAX as u64 + 1, u64::MAX];
    let floats = [-1e300, -1.5, -1.0, -0.0, 0.5, 1.0, 1.5, 9.3e18, 1e300];
    let mut lines = String::new();
    for (at, number) in integers.iter().enumerate() {
        lines.push_str(&format!("i i={number}i {at}\n"));
    }
    for (at, number) in unsigned.iter().enumerate() {
        lines.push_str(&format!("u u={number}u {at}\n"));
    }
    for (at, number) in floats.iter().enumerate() {
        lines.push_str(&format!("f f={number:e} {at}\n"));
    }
    assert_eq!(server.post("/api/v3/write_lp?db=d&precision=second", &lines).status, 204);
    let wholes = |numbers: Vec<i128>| numbers.into_iter().map(Number::Whole).collect();
    let columns: [(&str, Vec<Number>); 3] = [
        ("i", wholes(integers.map(i128::from).to_vec())),
        ("u", wholes(unsigned.map(i128::from).to_vec())),
        ("f", floats.into_iter().map(Number::Float).collect()),
    ];
    let constants = [
        "-9223372036854775808",
        "-2",
        "-1",
        "0",
        "1",
        "9007199254740992",
        "9223372036854775807",
        "9223372036854775808",
        "18446744073709551615",
        "-1.5",
        "-0.5",
        "0.5",
        "1.0",
        "1.5",
        "-1e300",
        "1e300",
        "9.3e18",
        "'NaN'::float",
        "'Infinity'::float",
        "'-Infinity'::float",
    ];
    for (column, numbers) in &columns {
        for constant in constants {
            for operator in ["=", "<>", "<", "<=", ">", ">="] {
                let bare = constant.trim_end_matches("::float").trim_matches('\'');
                let with = match bare.parse() {
                    Ok(whole) => Number::Whole(whole),
                    Err(_) => Number::Float(bare.parse().unwrap()),
                };
                let holds = |number: &&Number| number.compares(operator, with);
                let expected = format!("n\n{}\n", numbers.iter().filter(holds).count());
                for of in [column.to_string(), format!("coalesce({column})")] {
                    let condition = format!("{of} {operator} {constant}");
                    let text = format!("SELECT count(*) AS n FROM {column} WHERE {condition}");
                    assert_eq!(ask(&server, &text, "csv").text(), expected, "{text}");
                }
                let text =
                    format!("SELECT count(*) AS n FROM {column} WHERE {constant} {} {column}", {
                        match operator {
                            "<" => ">",
                            "<=" => ">=",
                            ">" => "<",
                            ">=" => "<=",
                            operator => operator,
                        }
                    });
                assert_eq!(ask(&server, &text, "csv").text(), expected, "{text}");
            }
        }
    }
    server.stop();
}

#[derive(Clone, Copy, Debug)]
enum Number {
    Whole(i128),
    Float(f64),
}

impl Number {
    /// Two whole numbers compare as they are, others as floats.
    fn compares(self, operator: &str, with: Self) -> bool {
        fn of<T: PartialOrd>(operator: &str, a: T, b: T) -> bool {
            match operator {
                "=" => a == b,
                "<>" => a != b,
                "<" => a < b,
                "<=" => a <= b,
                ">" => a > b,
                _ => a >= b,
            }
        }
        let float = |number: Self| match number {
            Self::Whole(whole) => whole as f64,
            Self::Float(float) => float,
        };
        match (self, with) {
            (Self::Whole(a), Self::Whole(b)) => of(operator, a, b),
            (a, b) => of(operator, float(a), float(b)),
        }
    }
}

/// A window that begins before all times is an error, whether rows are read or blocks are folded,
/// and takes no group with it; InfluxQL stamps it with the epoch.
#[test]
fn windows_at_the_ends_of_all_times_are_no_others() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    let lines = "m,h=a v=1 1000\nm,h=b v=2 2000\nm,h=a v=4 3600000000000\n\
                 late v=1 9223372036854775806\nlate v=2 9223372036854775000\nlate v=4 0\n";
    assert_eq!(server.post("/api/v3/write_lp?db=d&precision=nanosecond", lines).status, 204);
    let windows = "SELECT date_bin(INTERVAL '1 hour', time) AS t, sum(v) AS s, count(*) AS n";
    let rows = "SELECT date_bin(INTERVAL '1 hour', time) AS t, sum(v + 0) AS s, count(*) AS n";
    let expected = "t,s,n\n1970-01-01T00:00:00,3.0,2\n1970-01-01T01:00:00,4.0,1\n";
    for select in [windows, rows] {
        let text = format!("{select} FROM m GROUP BY 1 ORDER BY 1");
        assert_eq!(ask(&server, &text, "csv").text(), expected);
        let text = format!("{select} FROM late GROUP BY 1 ORDER BY 1");
        let late = "t,s,n\n1970-01-01T00:00:00,4.0,1\n2262-04-11T23:00:00,3.0,2\n";
        assert_eq!(ask(&server, &text, "csv").text(), late);
    }
    let early = "m,h=c v=8 -9223372036854775000\n";
    assert_eq!(server.post("/api/v3/write_lp?db=d&precision=nanosecond", early).status, 204);
    for select in [windows, rows] {
        let answer = ask(&server, &format!("{select} FROM m GROUP BY 1 ORDER BY 1"), "csv");
        let said = answer.text();
        assert!(said.contains("a window begins beyond all times"), "{said}");
        let text = format!("{select} FROM m WHERE time >= 0 GROUP BY 1 ORDER BY 1");
        assert_eq!(ask(&server, &text, "csv").text(), expected);
    }
    server.stop();
}
