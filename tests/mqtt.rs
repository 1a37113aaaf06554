//! The MQTT subscription through the real binary, against a broker of a hundred lines.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "what fails here is a failing test"
)]

mod harness;

use harness::broker::Broker;
use harness::{Scratch, Server};

#[test]
fn messages_of_every_format_are_stored_before_they_are_acknowledged() {
    let broker = Broker::new();
    let scratch = Scratch::new();
    let address = broker.flag();
    let flags = ["--mqtt-broker", &address, "--mqtt-topics", "s/put, s/line,s/#"];
    let server = Server::start(scratch.path(), &flags);
    let mut session = broker.accept(3).unwrap();
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
    drop(session);
    let mut session = broker.accept(3).unwrap();
    let id = session.publish("s/put", "put mq 1700002805 7 h=a");
    assert_eq!(session.acknowledged(), Some(id));
    assert_eq!(server.samples("sum:mq").len(), 6);
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
    let refused = harness::foliot().args(["config", "check", "--mqtt-broker", "x:1"]).output();
    let words = String::from_utf8(refused.unwrap().stderr).unwrap();
    assert!(words.contains("mqtt.topics names no topic"), "{words}");
}
