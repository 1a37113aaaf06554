//! The MQTT subscription through the real binary, against a broker of a hundred lines.

use crate::harness;
use crate::harness::broker::Broker;
use crate::harness::{PATIENCE, Scratch, Server, foliot};
use std::time::{Duration, Instant};

/// What the status tells that fails.
fn troubles(server: &Server) -> String {
    let status: serde_json::Value =
        serde_json::from_str(&server.get("/api/foliot/v1/status").text()).unwrap();
    status["troubles"].to_string()
}

fn until(what: &str, holds: impl Fn() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < PATIENCE, "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn messages_of_every_format_are_stored_before_they_are_acknowledged() {
    let broker = Broker::new();
    let scratch = Scratch::new();
    let address = format!("mqtt://{}", broker.flag());
    let flags = ["--mqtt-broker", &address, "--mqtt-topics", "s/put, s/line,s/#"];
    let server = Server::start(scratch.path(), &flags);
    let mut session = broker.accept(3).unwrap();
    assert_eq!(server.metric("foliot_mqtt_connected"), 1.0);
    assert_eq!(server.metric("foliot_mqtt_failures_total"), 0.0);
    assert_eq!(session.topics, ["s/put", "s/line", "s/#"]);
    // Protocol "MQTT" level 4; no flags: the session outlives the connection, and there is no user.
    assert_eq!(session.connect[..8], *b"\0\x04MQTT\x04\0");
    assert!(session.connect.ends_with(b"\0\x06foliot"));
    let messages = [
        ("s/put", "put mq 1700002800 1 h=a\nput mq 1700002801 2 h=a"),
        ("s/line", "mq,h=b value=3,other=4 1700002802000"),
        ("s/json", r#"{"metric":"mq","timestamp":1700002803,"value":5,"tags":{"h":"c"}}"#),
        ("s/x", "no one understands this"),
    ];
    for (topic, payload) in messages {
        let id = session.publish(topic, payload);
        assert_eq!(session.acknowledged(), Some(id), "{topic}");
    }
    assert_eq!(server.metric("foliot_mqtt_messages_total"), 4.0);
    assert_eq!(server.metric("foliot_rows_total{protocol=\"mqtt\"}"), 4.0);
    // What was acknowledged outlives the process; the next one subscribes again.
    server.kill();
    let server = Server::start(scratch.path(), &flags);
    let samples = server.samples("sum:mq");
    assert_eq!(samples.len(), 4, "{samples:?}");
    assert_eq!(server.samples("none:mq.other"), [(1_700_002_802_000, "4.0".to_owned())]);
    let mut session = broker.accept(3).unwrap();
    let id = session.publish("s/put", "put mq 1700002804 6 h=a");
    assert_eq!(session.acknowledged(), Some(id));
    // A broker that goes away is looked for again.
    assert_eq!(troubles(&server), "[]");
    drop(session);
    let down = "nothing is taken from the MQTT broker 127.0.0.1:";
    until("a trouble", || troubles(&server).contains(down));
    let mut session = broker.accept(3).unwrap();
    until("no trouble", || troubles(&server) == "[]");
    let id = session.publish("s/put", "put mq 1700002805 7 h=a");
    assert_eq!(session.acknowledged(), Some(id));
    assert_eq!(server.metric("foliot_mqtt_connected"), 1.0);
    assert!(server.metric("foliot_mqtt_failures_total") >= 1.0);
    assert_eq!(server.samples("sum:mq").len(), 6);
    server.stop();
}

/// Messages as the makers' documents show them: Zigbee2MQTT, Tasmota's SENSOR, Shelly of the second
/// and of the first generation, and a bare number by a topic that says all.
#[test]
fn a_burst_is_acknowledged_to_its_end() {
    const MESSAGES: u16 = 4_000;
    let (broker, scratch) = (Broker::new(), Scratch::new());
    let address = format!("mqtt://{}", broker.flag());
    let server =
        Server::start(scratch.path(), &["--mqtt-broker", &address, "--mqtt-topics", "s/#"]);
    let mut session = broker.accept(1).unwrap();
    // More than may wait to be sent come before the first is heard of.
    for at in 0..MESSAGES {
        session.publish("s/put", format!("put burst {} {at} h=a", 1_700_000_000 + u32::from(at)));
    }
    let heard: Vec<u16> = (0..MESSAGES).map_while(|_| session.acknowledged()).collect();
    assert_eq!(heard, (1..=MESSAGES).collect::<Vec<u16>>());
    assert_eq!(server.metric("foliot_rows_total{protocol=\"mqtt\"}"), f64::from(MESSAGES));
    server.stop();
}

#[test]
fn templates_read_what_devices_send() {
    let broker = Broker::new();
    let scratch = Scratch::new();
    let address = broker.flag();
    let templates = "zigbee2mqtt/{device}=zigbee, tele/{device}/SENSOR=tasmota, \
                     {device}/status/{part}=shelly, shellies/{device}/relay/{channel}=relay, \
                     home/{room}/{measurement}/{field}";
    let flags = ["--mqtt-broker", &address, "--mqtt-topics", "#", "--mqtt-templates", templates];
    let server = Server::start(scratch.path(), &flags);
    let mut session = broker.accept(1).unwrap();
    let messages = [
        (
            "zigbee2mqtt/attic window",
            r#"{"battery":97,"contact":false,"linkquality":102,"temperature":21,"action":null}"#,
        ),
        ("zigbee2mqtt/attic window", r#"{"temperature":21.5,"update":{"state":"idle"}}"#),
        (
            "tele/plug/SENSOR",
            r#"{"Time":"2026-01-01T00:00:00","ENERGY":{"Power":40,"Period":[1,2],"Voltage":230.5}}"#,
        ),
        (
            "shellyplus1-a8/status/switch:0",
            r#"{"id":0,"source":"init","output":true,"temperature":{"tC":48.1,"tF":118.6}}"#,
        ),
        ("shellies/shelly1-b9/relay/0", "on"),
        ("home/cellar/climate/humidity", "63.25"),
        // One that says nothing, and one that no template fits, as before.
        ("home/cellar/climate/humidity", "unavailable"),
        // One that the field, which is of numbers, does not take.
        ("home/cellar/climate/humidity", "on"),
        ("other", "put plain 1700002800 1 h=a"),
    ];
    for (topic, payload) in messages {
        let id = session.publish(topic, payload);
        assert_eq!(session.acknowledged(), Some(id), "{topic}");
    }
    let values = |question: &str| -> Vec<String> {
        server.samples(question).into_iter().map(|(_, value)| value).collect()
    };
    assert_eq!(values("none:zigbee.battery{device=attic%20window}"), ["97.0"]);
    assert_eq!(values("none:zigbee.temperature{device=attic%20window}"), ["21.0", "21.5"]);
    assert_eq!(values("none:tasmota.ENERGY.Power{device=plug}"), ["40.0"]);
    assert_eq!(values("none:tasmota.ENERGY.Voltage{device=plug}"), ["230.5"]);
    assert_eq!(values("none:shelly.temperature.tC{device=shellyplus1-a8}"), ["48.1"]);
    assert_eq!(values("none:climate.humidity{room=cellar}"), ["63.25"]);
    assert_eq!(values("none:plain{h=a}"), ["1"]);
    let asked =
        server.get("/query?db=default&q=SELECT+last(*)+FROM+relay,shelly,zigbee+GROUP+BY+*");
    let text = asked.text();
    for expected in ["\"channel\":\"0\",\"device\":\"shelly1-b9\"", "last_output", "\"idle\""] {
        assert!(text.contains(expected), "{expected}: {text}");
    }
    assert_eq!(server.metric("foliot_mqtt_messages_total"), 9.0);
    let rejected = "foliot_rows_rejected_total{protocol=\"mqtt\",reason=\"value\"}";
    assert_eq!(server.metric(rejected), 2.0);
    server.stop();
    for (wrong, expected) in [
        ("a/{x}", "must say one measurement"),
        ("a/#/b=m", "at the end"),
        ("a/{x}/{x}=m", "two levels have the same name"),
        ("a/x{y}=m", "is no level of a topic"),
    ] {
        let output = foliot().args(["config", "check", "--mqtt-templates", wrong]).output();
        let said = String::from_utf8(output.unwrap().stderr).unwrap();
        assert!(said.contains("mqtt.templates") && said.contains(expected), "{wrong}: {said}");
    }
}

/// Payloads of Sparkplug by hand, after the guide of Protobuf's encoding and Tahu's
/// `sparkplug_b.proto`.
mod payload {
    fn varint(mut value: u64) -> Vec<u8> {
        let mut out = Vec::new();
        while value >= 128 {
            out.push((value % 128 + 128) as u8);
            value /= 128;
        }
        [out, vec![value as u8]].concat()
    }

    /// A field that is a varint.
    pub(super) fn number(field: u64, value: u64) -> Vec<u8> {
        [varint(field * 8), varint(value)].concat()
    }

    /// A field of bytes.
    pub(super) fn bytes(field: u64, held: &[u8]) -> Vec<u8> {
        [varint(field * 8 + 2), varint(held.len() as u64), held.to_vec()].concat()
    }

    pub(super) fn float(value: f32) -> Vec<u8> {
        [&[12 * 8 + 5][..], &value.to_le_bytes()].concat()
    }

    pub(super) fn double(value: f64) -> Vec<u8> {
        [&[13 * 8 + 1][..], &value.to_le_bytes()].concat()
    }

    /// A metric of a birth: its name, alias and type, and its value.
    pub(super) fn born(name: &str, alias: u64, kind: u64, value: &[u8]) -> Vec<u8> {
        let parts = [bytes(1, name.as_bytes()), number(2, alias), number(4, kind), value.to_vec()];
        bytes(2, &parts.concat())
    }

    /// A metric of data: its alias, its time, and its value.
    pub(super) fn data(alias: u64, time_ms: u64, value: &[u8]) -> Vec<u8> {
        bytes(2, &[number(2, alias), number(3, time_ms), value.to_vec()].concat())
    }
}

/// What an edge node of Sparkplug publishes, from a message before its birth to another connection.
#[test]
fn metrics_of_edge_nodes_are_stored_by_what_their_births_said() {
    use payload::{born, bytes, data, double, float, number};
    const T: u64 = 1_700_002_800_000;
    let (broker, scratch) = (Broker::new(), Scratch::new());
    let address = broker.flag();
    let flags = ["--mqtt-broker", &address, "--mqtt-topics", "spBv1.0/#"];
    let server = Server::start(scratch.path(), &flags);
    let mut session = broker.accept(1).unwrap();
    let rejected = |reason: &str| {
        let name = "foliot_rows_rejected_total{protocol=\"mqtt\",reason=\"";
        server.metric(&format!("{name}{reason}\"}}"))
    };
    // Sparkplug's data come at quality of service 0. What needs a birth has the node asked for it.
    let speed = |time_ms, value| data(5, time_ms, &number(10, value));
    session.publish_once("spBv1.0/plant/DDATA/line 1/press", &speed(T, 1));
    let (topic, command) = session.published().unwrap();
    assert_eq!(topic, "spBv1.0/plant/NCMD/line 1");
    let rebirth = bytes(1, b"Node Control/Rebirth");
    assert!(command.windows(rebirth.len()).any(|part| part == rebirth), "{command:x?}");
    assert!(command.ends_with(&[number(4, 11), number(14, 1)].concat()), "{command:x?}");
    assert_eq!(rejected("name"), 1.0);
    // Its birth, that of its device, and one second later what has changed.
    let node = [
        number(1, T),
        born("bdSeq", 0, 4, &number(11, 7)),
        born("Node Control/Rebirth", 0, 11, &number(14, 0)),
        born("Info/OS", 1, 12, &bytes(15, b"Linux \"6\"")),
        number(3, 0),
    ];
    let device = [
        number(1, T),
        born("Temperature/Inlet", 3, 9, &float(21.3)),
        born("Flow", 4, 10, &double(0.25)),
        born("Speed", 5, 2, &number(10, 65_526)),
        born("Running", 6, 11, &number(14, 1)),
        born("Count", 7, 8, &number(11, (1 << 53) + 1)),
        born("Since", 8, 13, &number(11, T - 5)),
        born("Idle", 9, 3, &number(7, 1)),
        born("Table", 10, 16, &bytes(17, b"")),
        born("Form", 11, 19, &bytes(18, b"")),
        born("Blob", 12, 17, &bytes(16, b"\0")),
        number(3, 1),
    ];
    let news = [
        number(1, T + 1000),
        speed(T + 1000, 11),
        data(3, T + 1000, &float(-0.5)),
        data(6, T + 1000, &number(14, 0)),
        // Sent late, with the time at which it was so.
        bytes(2, &[number(2, 4), number(3, T - 1000), number(5, 1), double(0.5)].concat()),
        // Without a time of its own, by its name.
        bytes(2, &[bytes(1, b"Idle"), number(10, 4)].concat()),
        // Not to be kept.
        bytes(2, &[number(2, 5), number(3, T + 2000), number(6, 1), number(10, 3)].concat()),
        number(3, 2),
    ];
    let messages = [
        ("spBv1.0/plant/NBIRTH/line 1", node.concat()),
        ("spBv1.0/plant/DBIRTH/line 1/press", device.concat()),
        ("spBv1.0/plant/DDATA/line 1/press", news.concat()),
        ("spBv1.0/STATE/scada", b"{\"online\":true}".to_vec()),
        ("spBv1.0/plant/NCMD/line 1", command),
    ];
    for (topic, payload) in messages {
        let id = session.publish(topic, &payload);
        assert_eq!(session.acknowledged(), Some(id), "{topic}");
    }
    let asked = server.get("/query?db=default&epoch=ms&q=SELECT+*+FROM+sparkplug");
    let asked: serde_json::Value = serde_json::from_str(&asked.text()).unwrap();
    let series = &asked["results"][0]["series"][0];
    let names = r#"["time","Count","Flow","Idle","Info/OS","Running","Since","Speed","Temperature/Inlet","device","group","node"]"#;
    assert_eq!(series["columns"].to_string(), names);
    let of = r#""plant","line 1"]"#;
    assert_eq!(
        series["values"].to_string(),
        format!(
            "[[1700002799000,null,0.5,null,null,null,null,null,null,\"press\",{of},\
             [1700002800000,null,null,null,\"Linux \\\"6\\\"\",null,null,null,null,null,{of},\
             [1700002800000,9007199254740992,0.25,null,null,true,1700002799995,-10,21.3,\"press\",{of},\
             [1700002801000,null,null,4,null,false,null,11,-0.5,\"press\",{of}]"
        )
    );
    // InfluxQL reads the numbers of such a field as floats; they are kept as they were.
    let count = server.samples("none:sparkplug.Count{device=press}");
    assert_eq!(count, [(1_700_002_800_000, "9007199254740993".to_owned())]);
    assert_eq!(server.samples("none:sparkplug.Speed{device=press}").len(), 2);
    assert_eq!((rejected("name"), rejected("value")), (1.0, 3.0));
    // Whatever is published there, it is told and acknowledged, and the server goes on.
    let whole = [device.concat(), news.concat()].concat();
    let mut random = 7_u64;
    for _ in 0..500 {
        let mut broken = whole.clone();
        for _ in 0..3 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let place = (random >> 33) as usize % broken.len();
            broken[place] = (random >> 24) as u8;
        }
        broken.truncate((random >> 40) as usize % whole.len());
        let id = session.publish("spBv1.0/broken/DBIRTH/n/d", &broken);
        assert_eq!(session.acknowledged(), Some(id), "{broken:x?}");
    }
    // A birth that this connection did not hear may have given the numbers to others.
    assert_eq!(server.metric("foliot_mqtt_rebirths_total"), 1.0);
    drop(session);
    let mut session = broker.accept(1).unwrap();
    session.publish_once("spBv1.0/plant/DDATA/line 1/press", &speed(T + 3000, 1));
    assert_eq!(session.published().unwrap().0, "spBv1.0/plant/NCMD/line 1");
    assert_eq!(server.metric("foliot_mqtt_rebirths_total"), 2.0);
    server.stop();
    // Who may only listen at a broker says so.
    let more = [&flags[..], &["--mqtt-rebirth=false"]].concat();
    let server = Server::start(scratch.path(), &more);
    let mut session = broker.accept(1).unwrap();
    let id = session.publish("spBv1.0/plant/DDATA/line 1/press", speed(T + 4000, 1));
    assert_eq!(session.acknowledged(), Some(id));
    assert_eq!(server.metric("foliot_mqtt_rebirths_total"), 0.0);
    server.stop();
}

#[test]
fn a_user_is_named_to_the_broker_and_the_password_is_not_shown() {
    let broker = Broker::new();
    let scratch = Scratch::new();
    let address = broker.flag();
    let named = ["--mqtt-client-id", "me", "--mqtt-user", "tick", "--mqtt-password", "geheim"];
    let flags = [&["--mqtt-broker", &address, "--mqtt-topics", "t"][..], &named].concat();
    let server = Server::start(scratch.path(), &flags);
    let session = broker.accept(1).unwrap();
    assert!(session.connect.ends_with(b"\0\x02me\0\x04tick\0\x06geheim"));
    drop(session);
    server.stop();
    let shown = harness::foliot().args(["config", "show"]).args(&flags).output().unwrap();
    let shown = String::from_utf8(shown.stdout).unwrap();
    assert!(shown.contains("mqtt.user") && !shown.contains("geheim"), "{shown}");
    let broker = "mqtt://me:geheim@x:1";
    let refused = harness::foliot().args(["config", "check", "--mqtt-broker", broker]).output();
    let words = String::from_utf8(refused.unwrap().stderr).unwrap();
    assert!(words.contains("set mqtt.user and mqtt.password"), "{words}");
    assert!(!words.contains("geheim"), "{words}");
    let refused = harness::foliot().args(["config", "check", "--mqtt-broker", "x:1"]).output();
    let words = String::from_utf8(refused.unwrap().stderr).unwrap();
    assert!(words.contains("mqtt.topics names no topic"), "{words}");
}

#[test]
fn a_broker_under_tls_is_believed_when_somebody_vouches_for_it() {
    let scratch = Scratch::new();
    let [own, foreign] = ["own", "foreign"].map(|name| {
        let pair = scratch.path().join(name);
        assert!(foliot().arg("cert").arg(&pair).output().unwrap().status.success());
        pair
    });
    let broker = Broker::with_tls(&own);
    let address = broker.flag();
    let start = |ca: &std::path::Path, data: &str| {
        let ca = ca.join("cert.pem");
        let flags = ["--mqtt-broker", &address, "--mqtt-topics", "t", "--mqtt-tls"];
        let flags = [&flags[..], &["--mqtt-ca", ca.to_str().unwrap()]].concat();
        Server::start(&scratch.path().join(data), &flags)
    };
    // One that nobody vouches for hears no password and is sent nothing.
    let server = start(&foreign, "a");
    let mut stranger = broker.connected().unwrap();
    assert!(stranger.is_ended());
    server.kill();
    let server = start(&own, "b");
    let mut session = broker.accept(1).unwrap();
    let id = session.publish("t", "put tls 1700002800 1 h=a");
    assert_eq!(session.acknowledged(), Some(id));
    assert_eq!(server.samples("sum:tls").len(), 1);
    // What breaks off within a message, and without TLS's farewell, is not stored.
    session.send_raw(&[0x32, 40, 0, 1, b't', 0, 9]);
    session.send_raw(b"put tls 1700002801 2");
    drop(session);
    let mut session = broker.accept(1).unwrap();
    let id = session.publish("t", "put tls 1700002802 3 h=a");
    assert_eq!(session.acknowledged(), Some(id));
    assert_eq!(server.samples("sum:tls").len(), 2);
    server.stop();
}

/// A broker that says what the standard forbids is left, and looked for again (MQTT 3.1.1, 4.8).
#[test]
fn packets_that_are_none_end_the_connection_and_store_nothing() {
    let broker = Broker::new();
    let scratch = Scratch::new();
    let address = broker.flag();
    let flags = ["--mqtt-broker", &address, "--mqtt-topics", "t", "--limits-body-bytes", "1KiB"];
    let server = Server::start(scratch.path(), &flags);
    let put = b"put m 1700002800 1 h=a";
    let publish = |first: u8, topic: &[u8], payload: &[u8]| {
        let length = (2 + topic.len() + 2 + payload.len()) as u8;
        [&[first, length, 0, topic.len() as u8][..], topic, &[0, 7], payload].concat()
    };
    let cases: [(&str, Vec<u8>); 6] = [
        ("a kind that does not exist", vec![0x00, 0]),
        ("a length of five bytes", vec![0x32, 0xff, 0xff, 0xff, 0xff, 0x7f]),
        ("a packet larger than limits.body_bytes", vec![0x32, 0x80, 0x10]),
        ("quality of service 3", publish(0x36, b"t", put)),
        ("a topic longer than its packet", vec![0x32, 6, 0, 99, b't', 0, 7, b'x']),
        ("a topic that is not UTF-8", publish(0x32, b"\xff\xfe", put)),
    ];
    for (what, packet) in &cases {
        let mut session = broker.accept(1).unwrap();
        session.send_raw(packet);
        assert!(session.is_ended(), "{what}");
    }
    // Half a packet is no message, however whole the line in it is.
    let mut session = broker.accept(1).unwrap();
    let whole = publish(0x32, b"t", b"put m 1700002800 1 h=a\nput m 1700002801 1 h=a");
    session.send_raw(&whole[..whole.len() - 10]);
    drop(session);
    let mut session = broker.accept(1).unwrap();
    let id = session.publish("t", "put good 1700002800 1 h=a");
    assert_eq!(session.acknowledged(), Some(id));
    assert_eq!(server.samples("sum:good").len(), 1);
    assert_eq!(server.get("/api/query?start=1&m=sum:m").status, 400, "there is no such metric");
    assert_eq!(server.metric("foliot_mqtt_messages_total"), 1.0);
    server.stop();
}
