//! An MQTT broker of a hundred lines, for tests.
//!
//! What a connection that ended gives is nothing: a test that kills the server goes on.
#![allow(clippy::big_endian_bytes, reason = "MQTT is big-endian")]

use super::PATIENCE;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A broker that knows one client, as far as MQTT 3.1.1 needs it for that.
pub(crate) struct Broker {
    listener: TcpListener,
    /// There when it speaks under TLS.
    tls: Option<Arc<ServerConfig>>,
}

/// What packets go through: a socket, or a session of TLS.
trait Line: Read + Write + Send {}
impl Line for TcpStream {}
impl Line for StreamOwned<ServerConnection, TcpStream> {}

/// The client's connection.
pub(crate) struct Session {
    socket: Box<dyn Line>,
    /// What the client said when it connected.
    pub(crate) connect: Vec<u8>,
    pub(crate) topics: Vec<String>,
    next_id: u16,
}

impl Broker {
    pub(crate) fn new() -> Self {
        Self { listener: TcpListener::bind("127.0.0.1:0").unwrap(), tls: None }
    }

    /// One that shows the certificate in a directory that `foliot cert` wrote.
    pub(crate) fn with_tls(pair: &Path) -> Self {
        let certificate = CertificateDer::from_pem_file(pair.join("cert.pem")).unwrap();
        let key = PrivateKeyDer::from_pem_file(pair.join("key.pem")).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate], key)
            .unwrap();
        Self { tls: Some(Arc::new(config)), ..Self::new() }
    }

    pub(crate) fn flag(&self) -> String {
        self.listener.local_addr().unwrap().to_string()
    }

    /// Waits for the client, and for as many subscriptions as it has topics.
    pub(crate) fn accept(&self, topics: usize) -> Option<Session> {
        let mut session = self.connected()?;
        let (kind, connect) = session.receive()?;
        assert_eq!(kind, 0x10, "CONNECT comes first");
        session.connect = connect;
        session.send(0x20, &[0, 0]);
        while session.topics.len() < topics {
            let (kind, body) = session.receive()?;
            assert_eq!(kind, 0x82, "SUBSCRIBE comes next");
            let length = usize::from(u16::from_be_bytes([body[2], body[3]]));
            session.topics.push(String::from_utf8(body[4..4 + length].to_vec()).unwrap());
            assert_eq!(body[4 + length], 1, "quality of service 1");
            session.send(0x90, &[body[0], body[1], 1]);
        }
        Some(session)
    }

    /// Waits for the client's connection, on which nothing was said yet.
    pub(crate) fn connected(&self) -> Option<Session> {
        let began = Instant::now();
        self.listener.set_nonblocking(true).unwrap();
        let socket = loop {
            match self.listener.accept() {
                Ok((socket, _)) => break socket,
                Err(_) if began.elapsed() > PATIENCE => return None,
                Err(_) => std::thread::sleep(Duration::from_millis(2)),
            }
        };
        socket.set_nonblocking(false).unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        let socket: Box<dyn Line> = match &self.tls {
            None => Box::new(socket),
            Some(tls) => {
                let session = ServerConnection::new(tls.clone()).unwrap();
                Box::new(StreamOwned::new(session, socket))
            }
        };
        Some(Session { socket, connect: Vec::new(), topics: Vec::new(), next_id: 1 })
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
        // Whether it arrived, the next answer tells.
        self.send_raw(&packet);
    }

    /// Sends bytes, whether or not they are a packet.
    pub(crate) fn send_raw(&mut self, bytes: &[u8]) {
        let _ = self.socket.write_all(bytes);
        let _ = self.socket.flush();
    }

    /// Whether the client ends the connection, whatever it says before.
    pub(crate) fn is_ended(&mut self) -> bool {
        let mut rest = Vec::new();
        match self.socket.read_to_end(&mut rest) {
            Ok(_) => true,
            Err(error) => error.kind() != std::io::ErrorKind::WouldBlock,
        }
    }

    fn byte(&mut self) -> Option<u8> {
        let mut byte = [0];
        self.socket.read_exact(&mut byte).ok()?;
        Some(byte[0])
    }

    /// The next packet that is no PINGREQ.
    fn receive(&mut self) -> Option<(u8, Vec<u8>)> {
        loop {
            let kind = self.byte()?;
            let (mut length, mut shift) = (0_usize, 0);
            loop {
                let byte = self.byte()?;
                length |= usize::from(byte & 0x7f) << shift;
                shift += 7;
                if byte & 0x80 == 0 {
                    break;
                }
            }
            let mut body = vec![0; length];
            self.socket.read_exact(&mut body).ok()?;
            match kind {
                0xc0 => self.send(0xd0, &[]),
                _ => return Some((kind, body)),
            }
        }
    }

    /// Sends a message and returns its number.
    pub(crate) fn publish(&mut self, topic: &str, payload: impl AsRef<[u8]>) -> u16 {
        let id = self.next_id;
        self.next_id = self.next_id.wrapping_add(1).max(1);
        let mut body = (topic.len() as u16).to_be_bytes().to_vec();
        body.extend_from_slice(topic.as_bytes());
        body.extend_from_slice(&id.to_be_bytes());
        body.extend_from_slice(payload.as_ref());
        self.send(0x32, &body);
        id
    }

    /// Sends a message that nobody acknowledges.
    pub(crate) fn publish_once(&mut self, topic: &str, payload: &[u8]) {
        let length = (topic.len() as u16).to_be_bytes();
        self.send(0x30, &[&length, topic.as_bytes(), payload].concat());
    }

    /// Waits for a message of the client's: topic and payload, at quality of service 0.
    pub(crate) fn published(&mut self) -> Option<(String, Vec<u8>)> {
        let (kind, mut body) = self.receive()?;
        assert_eq!(kind, 0x30, "PUBLISH");
        let length = usize::from(u16::from_be_bytes([body[0], body[1]]));
        let payload = body.split_off(2 + length);
        Some((String::from_utf8(body.split_off(2)).unwrap(), payload))
    }

    /// Waits for the acknowledgement of a message.
    pub(crate) fn acknowledged(&mut self) -> Option<u16> {
        let (kind, body) = self.receive()?;
        if kind == 0xe0 {
            // DISCONNECT
            return None;
        }
        assert_eq!(kind, 0x40, "PUBACK");
        Some(u16::from_be_bytes([body[0], body[1]]))
    }
}
