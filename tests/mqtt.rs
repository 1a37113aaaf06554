//! The MQTT subscription through the real binary, against a broker of a hundred lines.

#![allow(
    clippy::big_endian_bytes,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "what fails here is a failing test, and MQTT is big-endian"
)]

mod harness;

use harness::{PATIENCE, Scratch, Server};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};

/// A broker that knows one client, as far as MQTT 3.1.1 needs it for that.
struct Broker {
    listener: TcpListener,
}

/// The client's connection.
struct Session {
    socket: TcpStream,
    /// What the client said when it connected.
    connect: Vec<u8>,
    topics: Vec<String>,
    next_id: u16,
}

impl Broker {
    fn new() -> Self {
        Self { listener: TcpListener::bind("127.0.0.1:0").unwrap() }
    }

    fn flag(&self) -> String {
        self.listener.local_addr().unwrap().to_string()
    }

    /// Waits for the client, and for as many subscriptions as it has topics.
    fn accept(&self, topics: usize) -> Session {
        let socket = self.listener.accept().unwrap().0;
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut session = Session { socket, connect: Vec::new(), topics: Vec::new(), next_id: 1 };
        let (kind, connect) = session.receive();
        assert_eq!(kind, 0x10, "CONNECT comes first");
        session.connect = connect;
        session.send(0x20, &[0, 0]);
        while session.topics.len() < topics {
            let (kind, body) = session.receive();
            assert_eq!(kind, 0x82, "SUBSCRIBE comes next");
            let length = usize::from(u16::from_be_bytes([body[2], body[3]]));
            session.topics.push(String::from_utf8(body[4..4 + length].to_vec()).unwrap());
            assert_eq!(body[4 + length], 1, "quality of service 1");
            session.send(0x90, &[body[0], body[1], 1]);
        }
        session
    }
}

impl Session {
    /// Sends a packet: first byte, length in sevens of bits, the rest.
    fn send(&mut self, kind: u8, body: &[u8]) {
        let mut packet = vec![kind];
        let mut left = body.len();
        loop {
            let more = left >> 7 > 0;
            packet.push((left & 0x7f) as u8 | if more { 0x80 } else { 0 });
            left >>= 7;
            if !more {
                break;
            }
        }
        packet.extend_from_slice(body);
        self.socket.write_all(&packet).unwrap();
    }

    fn byte(&mut self) -> u8 {
        let mut byte = [0];
        self.socket.read_exact(&mut byte).unwrap();
        byte[0]
    }

    /// The next packet that is no PINGREQ.
    fn receive(&mut self) -> (u8, Vec<u8>) {
        loop {
            let kind = self.byte();
            let (mut length, mut shift) = (0_usize, 0);
            loop {
                let byte = self.byte();
                length |= usize::from(byte & 0x7f) << shift;
                shift += 7;
                if byte & 0x80 == 0 {
                    break;
                }
            }
            let mut body = vec![0; length];
            self.socket.read_exact(&mut body).unwrap();
            match kind {
                0xc0 => self.send(0xd0, &[]),
                _ => return (kind, body),
            }
        }
    }

    /// Sends a message and returns its number.
    fn publish(&mut self, topic: &str, payload: &str) -> u16 {
        let id = self.next_id;
        self.next_id += 1;
        let mut body = (topic.len() as u16).to_be_bytes().to_vec();
        body.extend_from_slice(topic.as_bytes());
        body.extend_from_slice(&id.to_be_bytes());
        body.extend_from_slice(payload.as_bytes());
        self.send(0x32, &body);
        id
    }

    /// Waits for the acknowledgement of a message.
    fn acknowledged(&mut self) -> u16 {
        let (kind, body) = self.receive();
        assert_eq!(kind, 0x40, "PUBACK");
        u16::from_be_bytes([body[0], body[1]])
    }
}

#[test]
fn messages_of_every_format_are_stored_before_they_are_acknowledged() {
    let broker = Broker::new();
    let scratch = Scratch::new();
    let address = broker.flag();
    let flags = ["--mqtt-broker", &address, "--mqtt-topics", "s/put, s/line,s/#"];
    let server = Server::start(scratch.path(), &flags);
    let mut session = broker.accept(3);
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
        assert_eq!(session.acknowledged(), id, "{topic}");
    }
    assert_eq!(server.metric("foliot_mqtt_messages_total"), 4.0);
    assert_eq!(server.metric("foliot_rows_total{protocol=\"mqtt\"}"), 4.0);
    // What was acknowledged outlives the process; the next one subscribes again.
    server.kill();
    let server = Server::start(scratch.path(), &flags);
    let samples = server.samples("sum:mq");
    assert_eq!(samples.len(), 4, "{samples:?}");
    assert_eq!(server.samples("none:mq.other"), [(1_700_002_802_000, "4.0".to_owned())]);
    let mut session = broker.accept(3);
    let id = session.publish("s/put", "put mq 1700002804 6 h=a");
    assert_eq!(session.acknowledged(), id);
    // A broker that goes away is looked for again.
    drop(session);
    let mut session = broker.accept(3);
    let id = session.publish("s/put", "put mq 1700002805 7 h=a");
    assert_eq!(session.acknowledged(), id);
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
    let session = broker.accept(1);
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
