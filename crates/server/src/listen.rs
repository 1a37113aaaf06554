//! Listeners: accepting, counting, sniffing and handing over connections.

use crate::http::Dialect;
use crate::limits::Limit;
use crate::lines::Language;
use crate::shared::Shared;
use crate::sniff::{Protocol, SNIFF_BYTES_MAX, sniff};
use crate::wire::Wire;
use crate::{http, lines, loops, senders, telnet};
use rustix::net::sockopt;
use std::io;
use std::net::{self, IpAddr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::Interest;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout_at};

/// How long a connection may stay silent at its beginning.
const SILENT_SECONDS_MAX: Duration = Duration::from_secs(30);

/// How long it may while few places are left: what has said nothing yet makes room for others.
const CROWDED_SECONDS_MAX: Duration = Duration::from_secs(1);

/// How long the first bytes may take to say which protocol they are, once they began.
const SNIFF_SECONDS_MAX: Duration = crate::stream::HEAD_SECONDS_MAX;

/// How long a dead peer stays unnoticed.
const PEER_SECONDS_MAX: u32 = 60;

/// Connections that may wait to be accepted; the system lowers this to its own bound
/// (`net.core.somaxconn`). A client that finds no room tries again after a second at the earliest,
/// so a fleet that comes back at once must fit.
const WAITING_MAX: u32 = 4096;

/// Connections that only this machine may open.
const CONNECTIONS_RESERVED: usize = 16;

/// Places for connections.
#[derive(Clone, Debug)]
pub(crate) struct Places {
    free: Arc<Semaphore>,
    all: usize,
}

impl Places {
    pub(crate) fn new(all: usize) -> Self {
        Self { free: Arc::new(Semaphore::new(all)), all }
    }

    /// Whether less than a quarter of them is left.
    fn is_crowded(&self) -> bool {
        self.free.available_permits() < self.all / 4
    }
}

/// What a listener accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Accepts {
    /// Everything, told apart by the first bytes.
    Everything,
    /// HTTP only, where the flag says, in this dialect.
    Http(&'static str, Dialect),
    /// Everything, in TickTock's dialect.
    TickTock,
    /// Graphite's plain text and pickle only.
    Graphite,
}

impl Accepts {
    /// The flag that says where such connections are accepted.
    pub(crate) fn flag(self) -> &'static str {
        match self {
            Self::Everything => "--listen",
            Self::Http(flag, _) => flag,
            Self::TickTock => "--listen-ticktock",
            Self::Graphite => "--listen-graphite",
        }
    }
}

/// What keeps the server from ending: dropped when a connection is done.
pub(crate) type Alive = tokio::sync::mpsc::Sender<()>;

/// A listening socket; to be called within the runtime.
pub(crate) fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = match address {
        SocketAddr::V4(_) => TcpSocket::new_v4()?,
        SocketAddr::V6(_) => TcpSocket::new_v6()?,
    };
    // A server that starts again must not wait for connections of the one before to be forgotten.
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(WAITING_MAX)
}

/// Accepts connections until the server stops.
pub(crate) async fn accept(
    (shared, places, loops): (Arc<Shared>, Places, loops::Places),
    listener: TcpListener,
    accepts: Accepts,
    alive: Alive,
) {
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = shared.stopping() => return,
        };
        match accepted {
            Ok((socket, peer)) => {
                let Some(place) = Place::take(&shared, &places, peer.ip()) else {
                    shared.metrics.connections_refused.add(1);
                    continue;
                };
                shared.metrics.connections_accepted.add(1);
                let socket = match socket.into_std() {
                    Ok(socket) => socket,
                    Err(error) => {
                        log::debug!("a connection is lost: {error}");
                        continue;
                    }
                };
                let serving = serve(shared.clone(), socket, accepts, place, alive.clone());
                loops.serve(senders::heard_from(peer.ip(), serving));
            }
            Err(error) => {
                shared.metrics.connections_refused.add(1);
                if let Some(silent) = shared.failures_log.admit("listener", "accept") {
                    log::error!("cannot accept connections: {error} ({silent} more kept silent)");
                }
                // Descriptors have run out, most likely: others must end before one more can begin.
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
    }
}

async fn serve(
    shared: Arc<Shared>,
    socket: net::TcpStream,
    accepts: Accepts,
    place: Place,
    alive: Alive,
) {
    shared.metrics.connections.add(1);
    let open = Open(shared.clone());
    if let Err(error) = prepare(&socket) {
        log::debug!("socket options: {error}");
    }
    // From here on its loop looks after it.
    let wire = match TcpStream::from_std(socket) {
        Ok(socket) => Wire::plain(socket),
        Err(error) => return log::debug!("a connection is lost: {error}"),
    };
    match accepts {
        // Nothing else is spoken there.
        Accepts::Http(_, dialect) if shared.tls.is_none() => {
            http::serve(shared, wire, Vec::new(), dialect).await;
        }
        accepts => serve_sniffed(shared, wire, accepts, &place.places).await,
    }
    drop((open, place, alive));
}

/// A connection's place among all and among those of its address; given back when dropped.
struct Place {
    shared: Arc<Shared>,
    address: IpAddr,
    places: Places,
    _permit: OwnedSemaphorePermit,
}

impl Place {
    /// Nothing when there is none left. The last ones are for this machine, so that its operator
    /// and whoever asks `/-/ready` find one when strangers hold all others.
    fn take(shared: &Arc<Shared>, places: &Places, address: IpAddr) -> Option<Self> {
        let is_local = address.to_canonical().is_loopback();
        let met = |limit: Limit| {
            shared.metrics.limits.add(limit);
            turned_away(shared, limit.name(), address);
        };
        if !is_local && places.free.available_permits() <= CONNECTIONS_RESERVED {
            met(Limit::Connections);
            return None;
        }
        let permit = places.free.clone().try_acquire_owned();
        let permit = permit.inspect_err(|_| met(Limit::Connections)).ok()?;
        let network = network(address);
        if !shared.connects(network) {
            met(Limit::ConnectionsPerAddress);
            return None;
        }
        let (shared, places) = (shared.clone(), places.clone());
        Some(Self { shared, address: network, places, _permit: permit })
    }
}

/// A connection is closed before anything of it is read: the log says so, and why.
fn turned_away(shared: &Shared, why: &'static str, address: IpAddr) {
    if let Some(silent) = shared.failures_log.admit("listener", why) {
        log::warn!(
            "a connection from {address} was closed at once: {why}; see docs/limits.md ({silent} \
             more kept silent)"
        );
    }
}

impl Shared {
    /// Counts one more connection of a host; false when it has as many as it may have.
    fn connects(&self, address: IpAddr) -> bool {
        let mut connected = self.connected.lock();
        let count = connected.entry(address).or_insert(0);
        let is_one_more = *count < self.config.limits_connections_per_address;
        *count += u64::from(is_one_more);
        is_one_more
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut connected = self.shared.connected.lock();
        if let Some(count) = connected.get_mut(&self.address) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                connected.remove(&self.address);
            }
        }
    }
}

/// What one host has: an address, or of IPv6 the first 64 bits of it.
pub(crate) fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(address) => address.into(),
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() >> 64 << 64).into(),
    }
}

/// Counts a connection as open while it lives, however it ends.
struct Open(Arc<Shared>);

impl Drop for Open {
    fn drop(&mut self) {
        self.0.metrics.connections.subtract(1);
    }
}

/// Answers at once, and notices peers that vanished without a word.
fn prepare(socket: &net::TcpStream) -> io::Result<()> {
    socket.set_nodelay(true)?;
    sockopt::set_socket_keepalive(socket, true)?;
    let idle = Duration::from_secs(u64::from(PEER_SECONDS_MAX) / 2);
    sockopt::set_tcp_keepidle(socket, idle)?;
    sockopt::set_tcp_keepintvl(socket, idle / 3)?;
    sockopt::set_tcp_keepcnt(socket, 3)?;
    #[cfg(target_os = "linux")]
    sockopt::set_tcp_user_timeout(socket, PEER_SECONDS_MAX * 1000)?;
    Ok(())
}

async fn serve_sniffed(shared: Arc<Shared>, wire: Wire, accepts: Accepts, places: &Places) {
    let dialect = match accepts {
        Accepts::TickTock => Dialect::TickTock,
        Accepts::Everything | Accepts::Graphite => Dialect::Everyone,
        Accepts::Http(_, dialect) => dialect,
    };
    let Some((mut wire, protocol, first)) = unwrapped(&shared, wire, places).await else { return };
    match protocol {
        Protocol::Http if accepts == Accepts::Graphite => refuse_http(&shared, &mut wire),
        Protocol::Telnet | Protocol::Lines if accepts == Accepts::Graphite => {
            lines::serve(&shared, wire, first, Language::Graphite).await;
        }
        Protocol::Pickle if accepts == Accepts::Graphite => {
            lines::serve(&shared, wire, first, Language::Pickle).await;
        }
        Protocol::Http => http::serve(shared, wire, first, dialect).await,
        _ if matches!(accepts, Accepts::Http(..)) => {
            http::serve(shared, wire, first, dialect).await
        }
        Protocol::Telnet | Protocol::Lines | Protocol::Pickle if dialect == Dialect::TickTock => {
            telnet::serve_ticktock(&shared, wire, first).await;
        }
        Protocol::Telnet => telnet::serve(&shared, wire, first).await,
        // No pickle is known there: lines say what is wrong with it.
        Protocol::Lines | Protocol::Pickle => {
            lines::serve(&shared, wire, first, Language::Influx).await;
        }
        // One session within another is none.
        Protocol::Tls => {}
    }
}

/// Finds out what a connection speaks, under TLS if it begins with that; with the first bytes of
/// it.
async fn unwrapped(
    shared: &Shared,
    mut wire: Wire,
    places: &Places,
) -> Option<(Wire, Protocol, Vec<u8>)> {
    let mut first = Vec::new();
    let protocol = read_first(shared, &mut wire, &mut first, places).await?;
    if protocol != Protocol::Tls {
        if shared.config.tls_only && !is_local(&wire) {
            shared.metrics.connections_refused.add(1);
            if let Ok(peer) = wire.peer_addr() {
                turned_away(shared, "tls.only", peer.ip());
            }
            return None;
        }
        return Some((wire, protocol, first));
    }
    shared.metrics.connections_tls.add(1);
    let Some(tls) = &shared.tls else {
        refuse_tls(shared, &mut wire);
        return None;
    };
    if let Err(error) = wire.secure(tls.config(), &first) {
        log::debug!("no TLS session: {error}");
        return None;
    }
    first.clear();
    let protocol = read_first(shared, &mut wire, &mut first, places).await?;
    Some((wire, protocol, first))
}

fn is_local(wire: &Wire) -> bool {
    wire.peer_addr().is_ok_and(|peer| peer.ip().to_canonical().is_loopback())
}

/// Reads until it is clear what the connection speaks; nothing when it ended or stalled before.
async fn read_first(
    shared: &Shared,
    wire: &mut Wire,
    first: &mut Vec<u8>,
    places: &Places,
) -> Option<Protocol> {
    let mut deadline = Instant::now() + SILENT_SECONDS_MAX;
    loop {
        let look = deadline.min(Instant::now() + CROWDED_SECONDS_MAX);
        let ready = tokio::select! {
            ready = timeout_at(look, wire.ready(Interest::READABLE)) => ready,
            () = shared.stopping() => return None,
        };
        if ready.is_err() && look < deadline && !(first.is_empty() && places.is_crowded()) {
            continue;
        }
        match ready {
            Ok(Ok(_)) => {}
            Ok(Err(_)) => return None,
            Err(_) => {
                shared.metrics.connections_timed_out.add(1);
                shared.metrics.limits.add(Limit::FirstBytes);
                return None;
            }
        }
        if first.is_empty() {
            deadline = Instant::now() + SNIFF_SECONDS_MAX;
            first.reserve(SNIFF_BYTES_MAX);
        }
        let ended = match wire.try_read_buf(first) {
            Ok(0) => true,
            Ok(_) => false,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => continue,
            Err(_) => return None,
        };
        match sniff(first, ended) {
            None if ended => return None,
            None => {}
            decided => return decided,
        }
    }
}

/// Any web page can make a browser send a request here, whose body would be lines. No line of
/// Graphite's begins as a request does: a path is no number.
fn refuse_http(shared: &Shared, wire: &mut Wire) {
    shared.metrics.connections_refused.add(1);
    let _ = wire.try_write(
        b"HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\n\
          this port takes Graphite's plain text only (listen.graphite)\n",
    );
    let Ok(peer) = wire.peer_addr() else { return };
    if let Some(silent) = shared.failures_log.admit("listener", "graphite") {
        let from = peer.ip();
        log::warn!(
            "{from} sent HTTP to the port of Graphite's plain text (listen.graphite), and nothing \
             of it was stored ({silent} more kept silent)"
        );
    }
}

/// Tells a TLS client what is wrong, in the log; on the wire, a fatal alert "handshake failure"
/// (RFC 8446, 6) makes it say so instead of hanging.
fn refuse_tls(shared: &Shared, wire: &mut Wire) {
    let _ = wire.try_write(&[0x15, 3, 1, 0, 2, 2, 40]);
    let Ok(peer) = wire.peer_addr() else { return };
    if let Some(silent) = shared.rejects_log.admit("listener", "tls") {
        let from = peer.ip().to_canonical();
        log::warn!(
            "{from} tried TLS, for which there is no certificate (tls.certificate): use http:// \
             ({silent} more kept silent)"
        );
    }
}
