//! Every way in, for writers that know nothing of the store.

use crate::harness::broker::{Broker, Session};
use crate::harness::{PATIENCE, Server, read_response, request};
use std::io::{BufReader, Write};
use std::net::{SocketAddr, TcpStream, UdpSocket};

/// How a writer writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    Telnet,
    LineStream,
    TickTockStream,
    Udp,
    Put,
    Lines,
    LinesV2,
    TickTockPut,
    TickTockLines,
    Mqtt,
}

/// The writers of a server, and the metric of each.
pub(crate) const WRITERS: [(Way, &str); 11] = [
    (Way::Telnet, "t.telnet"),
    (Way::LineStream, "t.stream"),
    (Way::TickTockStream, "t.ticktock"),
    (Way::Udp, "t.udp"),
    (Way::Put, "t.put0"),
    (Way::Put, "t.put1"),
    (Way::Lines, "t.lines"),
    (Way::LinesV2, "t.lines2"),
    (Way::TickTockPut, "t.ttput"),
    (Way::TickTockLines, "t.ttlines"),
    (Way::Mqtt, "t.mqtt"),
];

impl Way {
    /// Whether each batch is answered.
    pub(crate) fn answers(self) -> bool {
        !matches!(self, Self::Telnet | Self::LineStream | Self::TickTockStream | Self::Udp)
    }

    /// What stands behind a writer's name in the metrics of its fields.
    pub(crate) fn fields(self) -> &'static [&'static str] {
        match self.writes_lines() {
            true => &[".a", ".b"],
            false => &[""],
        }
    }

    fn writes_lines(self) -> bool {
        use Way::{LineStream, Lines, LinesV2, Mqtt, TickTockLines};
        matches!(self, LineStream | Lines | LinesV2 | Mqtt | TickTockLines)
    }

    /// One row: two fields, or one. The second field is in hundredths.
    pub(crate) fn spell(self, name: &str, series: u64, time_s: i64, values: [i64; 2]) -> String {
        let [a, b] = values;
        match self {
            Self::Put | Self::TickTockPut => format!(
                "{{\"metric\":\"{name}\",\"timestamp\":{time_s},\"value\":{a},\
                 \"tags\":{{\"s\":\"{series}\"}}}}"
            ),
            _ if self.writes_lines() => {
                let (whole, rest) = (b / 100, b % 100);
                format!("{name},s={series} a={a}i,b={whole}.{rest:02} {time_s}\n")
            }
            _ => format!("put {name} {time_s} {a} s={series}\n"),
        }
    }

    /// The rows of a batch as one message.
    fn message(self, rows: &[String]) -> String {
        match self {
            Self::Put | Self::TickTockPut => format!("[{}]", rows.join(",")),
            _ => rows.concat(),
        }
    }

    fn path(self) -> &'static str {
        match self {
            Self::Put | Self::TickTockPut => "/api/put",
            Self::LinesV2 => "/api/v2/write?bucket=default&precision=s",
            Self::TickTockLines => "/api/write",
            _ => "/write?db=default&precision=s",
        }
    }
}

/// What became of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// It was answered with success.
    Answered,
    /// It was sent; this way gives no answer.
    Sent,
    /// It was refused with this status, which says that it may be sent again.
    Refused(u16),
    /// The server is gone.
    Gone,
}

/// One writer's connection.
pub(crate) enum Door {
    Stream(TcpStream),
    Datagrams(UdpSocket, SocketAddr),
    Http(BufReader<TcpStream>),
    Messages(Box<Session>),
}

/// What the doors of a server need: its flags, and the broker that it subscribes at.
pub(crate) struct Doors {
    broker: Broker,
}

impl Doors {
    pub(crate) fn new() -> Self {
        Self { broker: Broker::new() }
    }

    /// Flags that open every door.
    pub(crate) fn flags(&self) -> Vec<String> {
        let broker = self.broker.flag();
        let words = ["--listen-ticktock", "127.0.0.1:0", "--listen-udp", "--mqtt-topics", "t"];
        words.into_iter().map(str::to_owned).chain(["--mqtt-broker".to_owned(), broker]).collect()
    }

    /// Opens one; none when the server went away meanwhile.
    pub(crate) fn open(&self, server: &Server, way: Way) -> Option<Door> {
        Some(match way {
            Way::Telnet | Way::LineStream => Door::Stream(connect(server.address)?),
            Way::TickTockStream => Door::Stream(connect(ticktock(server))?),
            Way::Udp => Door::Datagrams(UdpSocket::bind("127.0.0.1:0").unwrap(), server.address),
            Way::Put | Way::Lines | Way::LinesV2 => {
                Door::Http(BufReader::new(connect(server.address)?))
            }
            Way::TickTockPut | Way::TickTockLines => {
                Door::Http(BufReader::new(connect(ticktock(server))?))
            }
            Way::Mqtt => Door::Messages(Box::new(self.broker.accept(1)?)),
        })
    }
}

fn connect(address: SocketAddr) -> Option<TcpStream> {
    let socket = TcpStream::connect(address).ok()?;
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    socket.set_write_timeout(Some(PATIENCE)).unwrap();
    socket.set_nodelay(true).unwrap();
    Some(socket)
}

fn ticktock(server: &Server) -> SocketAddr {
    let line = server.welcome.lines().find(|line| line.contains("TickTock")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

impl Door {
    /// Sends a batch over HTTP, and leaves the answer unread.
    pub(crate) fn send_only(self, way: Way, rows: &[String], level: &str) {
        let Self::Http(mut socket) = self else { panic!("{way:?} has no answers") };
        let headers = [("X-Foliot-Ack", level)];
        let bytes = request("POST", way.path(), &headers, way.message(rows).as_bytes());
        socket.get_mut().write_all(&bytes).unwrap();
    }

    /// Sends a batch and waits for its answer if there is to be one.
    pub(crate) fn send(&mut self, way: Way, rows: &[String], level: &str) -> Outcome {
        let message = way.message(rows);
        match self {
            Self::Stream(socket) => match socket.write_all(message.as_bytes()) {
                Ok(()) => Outcome::Sent,
                Err(_) => Outcome::Gone,
            },
            // A closed port is told by an error later, and an end without one is no end.
            Self::Datagrams(socket, address) => {
                match socket.send_to(message.as_bytes(), *address) {
                    Ok(_) => Outcome::Sent,
                    Err(_) => Outcome::Gone,
                }
            }
            Self::Http(socket) => {
                let headers = [("X-Foliot-Ack", level)];
                let bytes = request("POST", way.path(), &headers, message.as_bytes());
                if socket.get_mut().write_all(&bytes).is_err() {
                    return Outcome::Gone;
                }
                match read_response(socket) {
                    None => Outcome::Gone,
                    Some(answer) if matches!(answer.status, 200 | 204) => Outcome::Answered,
                    Some(answer) => Outcome::Refused(answer.status),
                }
            }
            Self::Messages(session) => {
                let id = session.publish("t", &message);
                match session.acknowledged() {
                    Some(acknowledged) if acknowledged == id => Outcome::Answered,
                    _ => Outcome::Gone,
                }
            }
        }
    }
}
