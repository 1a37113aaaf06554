use super::*;
use crate::question::{Ask, Function};
use crate::testing::cpu_fleet;

/// The language of this name.
fn speaks(name: &str) -> &'static Language {
    crate::adapter::language(name).unwrap()
}

fn question(ask: Ask, sources: Sources) -> Question {
    let (from_ms, to_ms) = (1_767_225_600_000, 1_767_225_720_000);
    Question { table: 0, fields: vec![0], sources, from_ms, to_ms, ask }
}

/// Percent-decodes, so that the expectations can be read.
fn plain(path: &str) -> String {
    let mut out = Vec::new();
    let mut bytes = path.bytes();
    while let Some(byte) = bytes.next() {
        if byte == b'%' {
            let digits = [bytes.next().unwrap(), bytes.next().unwrap()];
            let digits = std::str::from_utf8(&digits).unwrap().to_owned();
            out.push(u8::from_str_radix(&digits, 16).unwrap());
        } else {
            out.push(byte);
        }
    }
    String::from_utf8(out).unwrap()
}

const PER_MINUTE: Ask =
    Ask::Aggregate { function: Function::Max, per_series: true, bucket_ms: Some(60_000) };

#[test]
fn a_kind_that_a_language_lacks_is_known_beforehand() {
    let fleet = cpu_fleet(2);
    for language in [speaks("influxql"), speaks("postgres")] {
        assert!(Kind::DEVICE.iter().all(|kind| language.can_ask(&fleet, *kind)));
    }
    for language in [speaks("promql"), speaks("ticktock")] {
        let can = Kind::DEVICE.into_iter().filter(|kind| language.can_ask(&fleet, *kind));
        let without_last = [Kind::Point, Kind::Range, Kind::Aggregate, Kind::Downsample];
        assert_eq!(can.collect::<Vec<_>>(), without_last);
    }
}

#[test]
fn influxql_is_asked_in_its_own_words() {
    let fleet = cpu_fleet(10);
    let requests = speaks("influxql")
        .requests(&fleet, &question(PER_MINUTE, Sources::These(vec![3, 5])))
        .unwrap();
    assert_eq!(
        plain(&requests[0].path),
        "/query?db=default&epoch=ms&q=SELECT max(\"usage_user\") AS f0 FROM \"cpu\" WHERE \
         time >= 1767225600000ms AND time < 1767225720000ms AND \
         (\"hostname\" = 'host_3' OR \"hostname\" = 'host_5') \
         GROUP BY time(60000ms), \"hostname\" fill(none)"
    );
}

#[test]
fn promql_windows_are_shifted_to_half_open_ones() {
    let fleet = cpu_fleet(10);
    let question = question(PER_MINUTE, Sources::All);
    let requests = speaks("promql").requests(&fleet, &question).unwrap();
    let path = plain(&requests[0].path);
    assert!(path.contains("max_over_time({__name__=\"cpu_usage_user\"}[60000ms])"), "{path}");
    assert!(path.contains("start=1767225659.999&end=1767225719.999&step=60.000"), "{path}");
    let reply = br#"{"status":"success","data":{"resultType":"matrix","result":[
        {"metric":{"hostname":"host_1"},"values":[[1767225659.999,"5"],[1767225719.999,"6.5"]]}]}}"#;
    let mut answer = Answer::default();
    (speaks("promql").read)(&fleet, &question, &requests[0], reply, &mut answer).unwrap();
    let rows = &answer.rows[&("host_1".to_owned(), 0)];
    assert_eq!(rows, &[(1_767_225_600_000, 5.0), (1_767_225_660_000, 6.5)]);
}

#[test]
fn opentsdb_names_field_and_groups_by_source() {
    let fleet = cpu_fleet(10);
    let question = question(PER_MINUTE, Sources::These(vec![1]));
    let requests = speaks("opentsdb").requests(&fleet, &question).unwrap();
    let body: serde_json::Value = serde_json::from_str(requests[0].body.as_ref().unwrap()).unwrap();
    assert_eq!(body["end"], 1_767_225_719_999i64);
    let query = &body["queries"][0];
    assert_eq!(query["metric"], "cpu.usage_user");
    assert_eq!(query["downsample"], "60000ms-max");
    assert_eq!(query["filters"][0]["filter"], "host_1");
    let reply =
        br#"[{"metric":"cpu.usage_user","tags":{"hostname":"host_1"},"dps":{"7":1,"8":2.5}}]"#;
    let mut answer = Answer::default();
    (speaks("opentsdb").read)(&fleet, &question, &requests[0], reply, &mut answer).unwrap();
    assert_eq!(answer.rows[&("host_1".to_owned(), 0)], [(7, 1.0), (8, 2.5)]);
}

#[test]
fn what_a_language_cannot_say_is_not_asked() {
    let fleet = cpu_fleet(10);
    let descending = question(Ask::Samples { descending: true, above: None }, Sources::All);
    assert!(speaks("influxql").requests(&fleet, &descending).is_some());
    assert!(speaks("opentsdb").requests(&fleet, &descending).is_none());
    assert!(speaks("promql").requests(&fleet, &descending).is_none());
}

/// The statement of the only request to IoTDB.
fn iotdb(question: &Question) -> Option<String> {
    let requests = speaks("iotdb").requests(&cpu_fleet(10), question)?;
    let body: serde_json::Value = serde_json::from_str(requests[0].body.as_ref()?).ok()?;
    body["sql"].as_str().map(str::to_owned)
}

fn iotdb_answer(question: &Question, reply: &[u8]) -> Answer {
    let fleet = cpu_fleet(10);
    let requests = speaks("iotdb").requests(&fleet, question).unwrap();
    speaks("iotdb").answer(&fleet, question, [(&requests[0], reply)].into_iter()).unwrap()
}

#[test]
fn iotdb_tells_devices_apart_by_rows_where_a_condition_drops_rows() {
    let above = Ask::AggregateAbove { function: Function::Count, above: 50 };
    let question = question(above, Sources::These(vec![1, 8]));
    assert_eq!(
        iotdb(&question).unwrap(),
        "SELECT count(usage_user) FROM root.bench.cpu.`host_1`, root.bench.cpu.`host_8` WHERE \
         time >= 1767225600000 AND time < 1767225720000 AND usage_user > 50 ALIGN BY DEVICE"
    );
    // As IoTDB 2.0.1-beta answers; it counts none where there is none.
    let reply = br#"{"expressions":["Device","count(usage_user)"],"column_names":null,
        "data_types":["TEXT","INT64"],"timestamps":null,
        "values":[["root.bench.cpu.host_1","root.bench.cpu.host_8"],[0,12]]}"#;
    let answer = iotdb_answer(&question, reply);
    assert_eq!(answer.rows.len(), 1);
    assert_eq!(answer.rows[&("host_8".to_owned(), 0)], [(0, 12.0)]);
}

#[test]
fn iotdb_says_a_level_once_for_each_path_and_it_counts_once() {
    let per_minute =
        Ask::Aggregate { function: Function::Max, per_series: false, bucket_ms: Some(60_000) };
    let question = question(per_minute, Sources::These(vec![1, 2]));
    assert!(
        iotdb(&question)
            .unwrap()
            .ends_with("GROUP BY ([1767225600000, 1767225720000), 60000ms), LEVEL = 1")
    );
    // As IoTDB 2.0.1-beta answers.
    let reply = br#"{"expressions":["max_value(root.bench.*.*.usage_user)",
        "max_value(root.bench.*.*.usage_user)"],"column_names":null,"data_types":["INT64","INT64"],
        "timestamps":[1767225600000,1767225660000],"values":[[48,49],[48,49]]}"#;
    let rows = &iotdb_answer(&question, reply).rows[&(String::new(), 0)];
    assert_eq!(rows, &[(1_767_225_600_000, 48.0), (1_767_225_660_000, 49.0)]);
}

#[test]
fn iotdb_is_not_asked_for_one_number_over_several_paths() {
    let one = Ask::Aggregate { function: Function::Max, per_series: false, bucket_ms: None };
    assert!(iotdb(&question(one, Sources::These(vec![1, 2]))).is_none());
    assert!(iotdb(&question(one, Sources::All)).unwrap().contains("FROM root.bench.cpu.* WHERE"));
}
