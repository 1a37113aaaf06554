use super::*;
use foliot_model::{NANOS_PER_MILLI, NANOS_PER_SECOND, TimeRange};
use foliot_plan::{Aggregate, Fill, Fold, Gap, Grouping, Reset, Series, Windows};
use proptest::prelude::*;

const H: i64 = 1_700_002_800;
const NOW_MS: i64 = (H + 1800) * 1000;

fn get(query: &str) -> Result<Request, String> {
    let query = query.replace('H', &H.to_string());
    let request = HttpRequest { method: "GET", path: "/api/query", query: &query, body: b"" };
    Request::parse(&request, NOW_MS).map_err(|error| error.message)
}

fn post(body: &str) -> Result<Request, String> {
    let body = body.as_bytes();
    let request = HttpRequest { method: "POST", path: "/api/query", query: "", body };
    Request::parse(&request, NOW_MS).map_err(|error| error.message)
}

fn post_question(question: &str) -> Result<Request, String> {
    post(&format!("{{\"start\":{H},\"end\":{},\"queries\":[{question}]}}", H + 1800))
}

fn show(request: &Request) -> Vec<String> {
    request.questions.iter().enumerate().map(|(index, question)| question.show(index)).collect()
}

/// The one plan of a GET query, taken apart: clip range, aggregate.
fn plan(query: &str) -> (TimeRange, Aggregate) {
    let plans = get(query).unwrap().plans(0, &mut |_, _| Vec::new());
    let [Series::Clip { input, range, keep_empty: true }] = &plans[..] else { panic!("{plans:?}") };
    let Series::Aggregate(aggregate) = &**input else { panic!("{input:?}") };
    (*range, (**aggregate).clone())
}

fn selected(series: &Series) -> (&Selector, TimeRange) {
    match series {
        Series::Select { selector, range } => (selector, *range),
        Series::Window(window) => selected(&window.input),
        Series::Rate(rate) => selected(&rate.input),
        other => panic!("{other:?}"),
    }
}

fn seconds(range: TimeRange) -> (i64, i64) {
    let second = |ns: i64| ns / NANOS_PER_SECOND - H;
    (second(range.start_ns), second(range.end_ns + 1))
}

#[test]
fn the_order_of_options_does_not_matter() {
    let one = get("start=H&m=sum:rate:1m-avg:x").unwrap();
    let two = get("start=H&m=sum:1m-avg:rate:x").unwrap();
    assert_eq!(show(&one), show(&two));
    assert_eq!(get("start=H&m=sum:all-sum:x").unwrap().questions[0].downsample, None);
    let all = get("start=H&m=avg:rate{counter,300,5}:10s-sum-nan:EXPLICIT_tags:x{h=*}{dc=a|b}");
    let shown = concat!(
        r#"{"aggregator":"avg","metric":"x","tsuids":null,"downsample":"10s-sum-nan","rate":true,"#,
        r#""filters":[{"tagk":"dc","filter":"a|b","group_by":false,"type":"literal_or"},"#,
        r#"{"tagk":"h","filter":"*","group_by":true,"type":"wildcard"}],"#,
        r#""percentiles":null,"index":0,"showHistogramBuckets":false,"useMultiGets":true,"#,
        r#""rateOptions":{"counter":true,"counterMax":300,"resetValue":5,"dropResets":false},"#,
        r#""filterTagKs":[],"explicitTags":true,"useFuzzyFilter":true,"preAggregate":false,"#,
        r#""rollupUsage":null,"rollupTable":"raw","tags":{"h":"wildcard(*)"},"#,
        r#""histogramQuery":false}"#
    );
    assert_eq!(show(&all.unwrap()), [shown]);
}

#[test]
fn get_and_post_say_the_same() {
    let cases = [
        ("sum:x", r#"{"aggregator":"sum","metric":"x"}"#),
        (
            "max:rate{counter,,7}:1m-avg-null:x{h=web*,dc=lga}",
            r#"{"aggregator":"max","metric":"x","rate":true,"downsample":"1m-avg-null",
                "rateOptions":{"counter":true,"resetValue":7},"tags":{"h":"web*","dc":"lga"}}"#,
        ),
        (
            "none:explicit_tags:x{}{h=regexp(a.)}",
            r#"{"aggregator":"none","metric":"x","explicitTags":"true","unknown":[1],
                "filters":[{"type":"regexp","tagk":"h","filter":"a.","groupBy":false}]}"#,
        ),
    ];
    for (m, question) in cases {
        let got = get(&format!("start=H&m={m}")).unwrap();
        let posted = post_question(question).unwrap();
        let sorted = |request: &Request| {
            let mut question = request.questions[0].clone();
            question.filters.sort_by(|a, b| a.tag.cmp(&b.tag));
            question.show(0)
        };
        assert_eq!(sorted(&got), sorted(&posted));
        assert_eq!((got.start_ms, got.end_ms), (posted.start_ms, posted.end_ms));
    }
    let tsuid = post_question(r#"{"aggregator":"sum","tsuids":["000001000001000002"]}"#).unwrap();
    let same = get("start=H&tsuid=sum:000001000001000002").unwrap();
    assert_eq!(show(&tsuid), show(&same));
    assert_eq!(same.tsuids().count(), 1);
}

/// Rules of Prometheus record names with colons, which between quotes are no parts.
#[test]
fn a_metric_in_quotes_is_called_what_it_is_called() {
    let metric = |m: &str| {
        let request = get(&format!("start=H&m={m}")).unwrap();
        let Source::Metric(metric) = &request.questions[0].source else { panic!("{m}") };
        (metric.clone(), request.questions[0].filters.len())
    };
    let is = |m: &str, name: &str, filters| assert_eq!(metric(m), (name.to_owned(), filters));
    is(r#"sum:"job:reqs:rate1m""#, "job:reqs:rate1m", 0);
    is(r#"sum:1m-avg:rate{counter}:"a:b{c}"{h=*}{d=x}"#, "a:b{c}", 2);
    is(r#"sum:"say \"a:b\" \\ \n"{h=*}"#, "say \"a:b\" \\ \n", 1);
    // What has no second quote, or goes on behind it, is called so.
    is(r#"sum:"a"#, "\"a", 0);
    is(r#"sum:"a"b"#, "\"a\"b", 0);
    is(r#"sum:a"b""#, "a\"b\"", 0);
    // As OpenTSDB has it: what means nothing is passed over.
    is("sum:job:reqs", "reqs", 0);
    // No other metric is answered for one whose quotes are wrong.
    for m in [r#"sum:"job:reqs"#, r#"sum:"a:"b"#, r#"sum:"a":b"#, r#"sum:"a:b":b"#] {
        let refused = get(&format!("start=H&m={m}")).unwrap_err();
        assert!(refused.contains("does not end behind them"), "{m}: {refused}");
    }
    assert!(get(r#"start=H&m=sum:"""#).unwrap_err().contains("Missing the metric"));
    assert!(get(r#"start=H&m=sum:"a:b"{h=*"#).unwrap_err().contains("Missing '}'"));
}

#[test]
fn repeated_questions_are_asked_once() {
    let request = get("start=H&m=sum:x&m=sum:y&m=sum:x").unwrap();
    assert_eq!(request.questions(), 2);
    assert!(show(&request)[1].contains(r#""metric":"y""#));
}

#[test]
fn what_is_wrong_is_said_in_the_peers_words() {
    for (query, part) in [
        ("m=sum:x", "Missing parameter <code>start</code>"),
        ("start=H", "Missing sub queries"),
        ("start=H&m=sum", "(not enough :-separated parts)"),
        ("start=H&m=sum:a:b:c:d:x", "(too many :-separated parts)"),
        ("start=H&m=raw:x", "No such aggregation function: raw"),
        ("start=H&m=multiply:x", "No such aggregation function: multiply"),
        ("start=H&m=SUM:x", "No such aggregation function: SUM"),
        ("start=H&m=:x", "Missing the aggregation function"),
        ("start=H&m=sum:", "Missing the metric or tsuids"),
        ("start=H&m=sum:1m:x", "must provide at least interval and function"),
        ("start=H&m=sum:x{h=a", "Missing '}' at the end of: x{h=a"),
        ("start=H&m=sum:x{h}", "When parsing tag 'h': invalid tag: h"),
        ("start=H&m=sum:x{}{h=}", "When parsing filter 'h=': invalid tag: h="),
        ("start=H&end=1000&m=sum:x", "End time [1000000] must be greater than or equal to the st"),
        ("start=H&m=sum:x&tz=Nowhere", "Invalid timezone name: 'Nowhere'"),
        ("start=H&tsuid=sum:00", "Invalid TSUID: '00'"),
        ("start=H&tsuid=sum:000001,000002", "must be of one metric"),
        ("start=H&m=sum:percentiles[x]:x", "Invalid percentiles: percentiles[x]"),
    ] {
        let message = get(query).unwrap_err();
        assert!(message.contains(part), "{query}: {message}");
    }
    assert!(get("start=H&end=H&m=sum:x").is_ok(), "a single instant may be asked for");
    for (body, part) in [
        ("", "Missing message content"),
        ("[]", "Unable to parse the given JSON"),
        ("{\"start\":1", "Unable to parse the given JSON"),
        ("{\"queries\":[]}", "Missing start time"),
        ("{\"start\":1}", "Missing queries"),
        ("{\"start\":1,\"queries\":[{\"metric\":\"x\"}]}", "Missing the aggregation function"),
        ("{\"start\":1,\"queries\":[{\"aggregator\":\"sum\"}]}", "Missing the metric or tsuids"),
        (
            r#"{"start":1,"queries":[{"aggregator":"sum","metric":"x","rateOptions":{"x":1}}]}"#,
            "Unable to parse the given JSON",
        ),
    ] {
        let message = post(body).unwrap_err();
        assert!(message.contains(part), "{body}: {message}");
    }
}

/// What stands in the text from the fault on.
#[test]
fn faults_have_places() {
    for (text, from_fault) in [
        ("sum:x{h=a", ""),
        ("sum:x{h=a}b", "b"),
        ("sum:x{h=a}{i=b", "{i=b"),
        ("sum:x{h=}", "h=}"),
        ("sum:x{h=a,i=}{j=b}", "i=}{j=b}"),
        ("sum:x{h=a}{j=b,k}", "k}"),
        ("sun:x", "sun:x"),
        ("sum:1m-aug:x", "1m-aug:x"),
        ("sum:rate:1m-aug:x{h=a}", "1m-aug:x{h=a}"),
    ] {
        let error = super::get::question(text).unwrap_err();
        let at = text.len() - error.from_fault.unwrap_or_else(|| panic!("{text}: {error}"));
        assert_eq!(&text[at..], from_fault, "{text}: {error}");
    }
}

#[test]
fn deletes_are_seen_however_they_are_asked() {
    let body = br#"{"start":1,"queries":[{"aggregator":"sum","metric":"x"}]}"#;
    let deleting = br#"{"start":1,"delete":true,"queries":[{"aggregator":"sum","metric":"x"}]}"#;
    let deletes = |method, query, body| {
        let request = HttpRequest { method, path: "/api/query", query, body };
        Request::parse(&request, NOW_MS).unwrap().deletes
    };
    assert!(deletes("DELETE", "start=1&m=sum:x", b""));
    assert!(deletes("DELETE", "", body));
    assert!(deletes("GET", "start=1&m=sum:x&method_override=delete", b""));
    assert!(deletes("GET", "start=1&m=sum:x&delete=true", b""));
    assert!(deletes("POST", "", deleting));
    assert!(!deletes("POST", "", body) && !deletes("GET", "start=1&m=sum:x", b""));
}

#[test]
fn costly_parts_are_counted() {
    let filter = r#"{"type":"regexp","tagk":"h","filter":"a.","groupBy":false}"#;
    let question = |count: usize| {
        let filters = vec![filter; count].join(",");
        format!(r#"{{"aggregator":"sum","metric":"x","filters":[{filters}]}}"#)
    };
    assert!(post_question(&question(32)).is_ok());
    let message = post_question(&question(33)).unwrap_err();
    assert!(message.contains("more than 32 regular expressions"), "{message}");
    let many = [question(20), question(20)].join(",");
    assert!(post_question(&many).is_err());
    let m = "&m=sum:x{h=regexp(a)}{k=regexp(b)}".repeat(17);
    assert!(get(&format!("start=H{m}")).is_err());
    assert!(get(&format!("start=H{}", "&m=sum:x".repeat(1001))).is_err());
}

#[test]
fn times_of_a_post_query_are_numbers_or_texts() {
    let query = |start: &str| {
        let body = format!(
            r#"{{"start":{start},"timezone":"Asia/Kolkata","queries":
                [{{"aggregator":"sum","metric":"x"}}]}}"#
        );
        post(&body).map(|request| (request.start_ms - H * 1000, request.end_ms))
    };
    assert_eq!(query("1700002800"), Ok((0, NOW_MS)));
    assert_eq!(query("1700002800000"), Ok((0, NOW_MS)));
    assert_eq!(query("\"30m-ago\""), Ok((0, NOW_MS)));
    assert_eq!(query("\"2023/11/15-04:30\""), Ok((0, NOW_MS)));
}

#[test]
fn samples_are_read_from_whole_hours() {
    for (query, expected) in [
        // Without buckets the hour after the end's is read when the end is the last second.
        ("start=H&end=1700004600&m=sum:x", (0, 3600)),
        ("start=1700002830&end=1700002860&m=sum:x", (0, 3600)),
        ("start=H&end=1700006399&m=sum:x", (0, 7200)),
        ("start=1700006390&end=1700006400&m=sum:x", (0, 7200)),
        ("start=1700006400&end=1700006400&m=sum:x", (3600, 7200)),
        // With buckets the end's bucket is completed, and an end on the hour stays there.
        ("start=1700002830&end=1700002860&m=sum:1m-sum:x", (0, 3600)),
        ("start=H&end=1700006340&m=sum:1m-sum:x", (0, 3600)),
        ("start=H&end=1700006399&m=sum:1m-sum:x", (0, 7200)),
        // 23:00 is in the bucket from 22:00 to 24:00; 23:30 plus one second, too.
        ("start=H&end=1700004600&m=sum:2h-sum:x", (-3600, 3600)),
        ("start=H&end=1700004600&m=sum:0all-sum:x", (0, 3600)),
    ] {
        let (_, aggregate) = plan(query);
        assert_eq!(seconds(selected(&aggregate.input).1), expected, "{query}");
    }
}

#[test]
fn a_calendars_last_bucket_is_complete() {
    let query = "start=H&end=1700004600&m=sum:1dc-sum:x&tz=Asia/Kolkata";
    let (_, aggregate) = plan(query);
    // As for fixed days at the start; but midnight in India is at 18:30 UTC, and the query's day
    // ends 70200 s after H.
    let (start, end) = seconds(selected(&aggregate.input).1);
    assert!(start == -23 * 3600 && end >= 70_200, "{start} {end}");
    let Series::Window(window) = &aggregate.input else { panic!() };
    // Days begin where OpenTSDB looks for them.
    assert_eq!(seconds(window.range), (-23 * 3600, 3600));
    let Windows::Calendar { count: 1, zone, .. } = &window.windows else { panic!() };
    assert_eq!(&**zone, "Asia/Kolkata");
}

/// Java has names of its own for some zones, and knows offsets by IANA's names only.
#[test]
fn zones_have_the_names_that_java_has() {
    let begin = |zone: &str| {
        let query = format!("start=2023/11/14-04:30&m=sum:x&tz={zone}");
        get(&query).map(|request| (request.start_ms / 1000 - (H - 86_400)) / 60)
    };
    // How many minutes after 23:00 UTC on 13 November 2023 it is half past four elsewhere.
    assert_eq!(begin("UTC"), Ok(330));
    assert_eq!(begin("Asia/Kolkata"), Ok(0));
    assert_eq!(begin("IST"), Ok(0));
    assert_eq!(begin("PST"), Ok(330 + 480));
    assert_eq!(begin("JST"), Ok(330 - 540));
    assert_eq!(begin("Etc/GMT-3"), Ok(330 - 180));
    for zone in ["UTC%2B3", "%2B03:00", "GMT%2B3", "XST"] {
        let message = begin(zone).unwrap_err();
        assert!(message.starts_with("Invalid timezone name: '"), "{message}");
    }
}

#[test]
fn the_answer_is_cut_to_the_query_to_the_millisecond() {
    let (range, _) = plan("start=1700002800250&end=1700002800750&m=sum:x");
    let start_ns = (H * 1000 + 250) * NANOS_PER_MILLI;
    assert_eq!(range, TimeRange::new(start_ns, start_ns + 501 * NANOS_PER_MILLI - 1));
}

#[test]
fn aggregators_are_folds_and_gap_rules() {
    for (name, fold, gap) in [
        ("sum", Fold::Sum, Gap::Linear),
        ("zimsum", Fold::Sum, Gap::Zero),
        ("pfsum", Fold::Sum, Gap::Previous),
        ("mimmin", Fold::Min, Gap::Maximum),
        ("mimmax", Fold::Max, Gap::Minimum),
        ("count", Fold::Count, Gap::Zero),
        ("diff", Fold::Difference, Gap::Linear),
        ("squareSum", Fold::SquareSum, Gap::Zero),
    ] {
        let (_, aggregate) = plan(&format!("start=H&m={name}:x"));
        assert_eq!((aggregate.fold, aggregate.gap), (fold, gap), "{name}");
        assert_eq!(aggregate.grouping, Grouping::All);
        let (_, aggregate) = plan(&format!("start=H&m={name}:rate:x"));
        assert_eq!(aggregate.gap, Gap::Previous, "{name} of rates");
    }
    let (_, aggregate) = plan("start=H&m=none:x{h=*}");
    assert_eq!(aggregate.grouping, Grouping::Each);
    let (_, aggregate) = plan("start=H&m=sum:x{h=*,dc=a|b}{k=v}");
    let names = vec!["h".into(), "dc".into()];
    assert_eq!(aggregate.grouping, Grouping::By { names, drops_absent: true });
}

#[test]
fn windows_and_rates_come_before_series_do() {
    let (_, aggregate) = plan("start=H&end=1700004600&m=sum:rate{dropcounter}:1m-avg-zero:x");
    let Series::Rate(rate) = &aggregate.input else { panic!() };
    assert_eq!((rate.reset, rate.per_ns), (Reset::Drop, NANOS_PER_SECOND));
    let Series::Window(window) = &rate.input else { panic!() };
    let minute = Windows::Buckets { width_ns: 60 * NANOS_PER_SECOND, origin_ns: 0 };
    assert_eq!(window.windows, minute);
    assert_eq!((window.fold, window.fill), (Fold::Mean, Fill::Value(0.0)));
    assert_eq!(seconds(window.range), (0, 3600));
    let (_, aggregate) = plan("start=1700002830&end=1700002930&m=sum:0all-sum-nan:x");
    let Series::Window(window) = &aggregate.input else { panic!() };
    let Windows::Whole(whole) = window.windows else { panic!() };
    assert_eq!(seconds(whole), (30, 130));
    assert_eq!(window.fill, Fill::None);
}

#[test]
fn metrics_are_read_in_every_way_they_may_be_stored() {
    let readings = |metric| -> Vec<String> {
        let text = |test: &foliot_model::Test| test.literals().unwrap().join("");
        let names = metric_names(metric);
        names.iter().map(|n| format!("{}|{}", text(&n.measurement), text(&n.field))).collect()
    };
    assert_eq!(readings("a.b.c"), ["a.b.c|value", "a|b.c", "a.b|c"]);
    assert_eq!(readings("m"), ["m|value"]);
    assert_eq!(readings(".a."), [".a.|value"]);
    assert_eq!(readings("m.value"), ["m.value|value"]);
}

#[test]
fn names_that_must_exist_are_told_in_order() {
    let request =
        get("start=H&m=sum:x{h=a|b,r=web*}{k=not_literal_or(c),i=iliteral_or(d)}&tsuid=sum:000001");
    let request = request.unwrap();
    let expected = [
        RequiredName::Metric("x"),
        RequiredName::TagKey("k"),
        RequiredName::TagKey("i"),
        RequiredName::TagKey("h"),
        RequiredName::TagValue("a"),
        RequiredName::TagValue("b"),
        RequiredName::TagKey("r"),
    ];
    assert_eq!(request.required_names(), expected);
    assert_eq!(expected[0].error().message, "No such name for 'metrics': 'x'");
    assert_eq!(expected[4].error().message, "No such name for 'tagv': 'a'");
}

#[test]
fn a_series_tells_of_names_that_it_has_to_have() {
    let told = |question: &str| get(&format!("start=H&{question}")).unwrap().is_told_by_series();
    for question in
        ["m=sum:x", "m=none:x{h=a}", "m=sum:x{h=*}{dc=a}", "m=sum:x{h=not_literal_or(a)}"]
    {
        assert!(told(question), "{question}");
    }
    for question in [
        "m=sum:x{h=a|b}",
        "m=sum:x{h=literal_or(a)}{h=literal_or(b)}",
        "m=sum:x{h=*}{h=a}",
        "m=sum:x&m=sum:y",
        "m=sum:pre-aggregate:x",
    ] {
        assert!(!told(question), "{question}");
    }
}

#[test]
fn explicit_tags_and_tsuids_narrow_the_selection() {
    let (_, aggregate) = plan("start=H&m=sum:explicit_tags:x{h=*}{dc=a,h=b}");
    let selector = selected(&aggregate.input).0;
    assert_eq!(selector.exact_labels, Some(vec!["dc".to_owned(), "h".to_owned()]));
    assert_eq!(selector.matchers.len(), 3);
    let request = get("start=H&tsuid=sum:000001,000001000002000003").unwrap();
    let plans = request.plans(0, &mut |tsuid, _| vec![9, tsuid.tags.len() as u32]);
    let Series::Clip { input, .. } = &plans[0] else { panic!() };
    let Series::Aggregate(aggregate) = &**input else { panic!() };
    assert_eq!(selected(&aggregate.input).0.only, Some(vec![0, 1, 9]));
}

/// GET queries that are nearly right.
const GET_QUERIES: &str = concat!(
    r"start=([0-9./:-]{1,12}|1h-ago)&(m|tsuid)=",
    r"[a-z]{0,4}(:[-0-9a-z{},*=|()F]{0,12}){0,5}"
);

/// POST queries whose members have wrong kinds.
const POST_QUERIES: &str = concat!(
    r#"\{"start":(1|"x"|\[\]),"queries":(\[\{"#,
    r#"("(metric|aggregator|tags|filters|downsample|rate)":"#,
    r#"("sum"|"x"|\{\}|\[\]|true|null),?){0,4}\}\]|null)\}"#
);

proptest! {
    #[test]
    fn any_query_is_survived(
        query in GET_QUERIES,
        body in POST_QUERIES,
        extreme: i64,
    ) {
        let _ = get(&query);
        let _ = post(&body);
        let body = format!(r#"{{"start":"{extreme}ms","end":"{}ms","timezone":"UTC","queries":
            [{{"aggregator":"sum","metric":"x","downsample":"7nc-sum"}}]}}"#, i64::MAX);
        if let Ok(request) = post(&body) {
            request.plans(0, &mut |_, _| Vec::new());
        }
    }
}
