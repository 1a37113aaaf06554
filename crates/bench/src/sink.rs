//! The null target: a server inside this process that takes everything and keeps nothing, to
//! measure what the client alone can do, and that can stall on purpose to prove that the latency
//! figures show it.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

/// A pause that every connection takes at the same times.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stall {
    /// Time from one pause to the next.
    pub(crate) every: Duration,
    /// Length of a pause.
    pub(crate) pause: Duration,
}

/// Starts a sink on a free loopback port; it ends with the process.
pub(crate) fn start(stall: Option<Stall>) -> io::Result<SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    let begin = Arc::new(Instant::now());
    thread::Builder::new().name("sink".into()).spawn(move || {
        for stream in listener.incoming().flatten() {
            let begin = Arc::clone(&begin);
            let serve = move || drop(serve(stream, stall, *begin));
            // Out of threads: the connection is dropped and the client counts an error.
            let _ = thread::Builder::new().stack_size(256 << 10).spawn(serve);
        }
    })?;
    Ok(address)
}

fn serve(mut stream: TcpStream, stall: Option<Stall>, begin: Instant) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut buffer = vec![0u8; 256 << 10];
    let mut head: Vec<u8> = Vec::new();
    loop {
        let got = stream.read(&mut buffer)?;
        if got == 0 {
            return Ok(());
        }
        let new = buffer.get(..got).unwrap_or_default();
        if head.is_empty() && !new.starts_with(b"POST ") && !new.starts_with(b"GET ") {
            continue;
        }
        head.extend_from_slice(new);
        let Some(end) = head.windows(4).position(|window| window == b"\r\n\r\n") else { continue };
        let mut missing = (end + 4 + content_length(&head)).saturating_sub(head.len());
        while missing > 0 {
            let room = buffer.len().min(missing);
            let got = stream.read(buffer.get_mut(..room).unwrap_or_default())?;
            if got == 0 {
                return Ok(());
            }
            missing -= got;
        }
        head.clear();
        if let Some(stall) = stall {
            wait_out(stall, begin);
        }
        stream.write_all(b"HTTP/1.1 204 No Content\r\n\r\n")?;
    }
}

/// Sleeps to the end of the pause when one is on.
fn wait_out(stall: Stall, begin: Instant) {
    let within = begin.elapsed().as_nanos() % stall.every.as_nanos().max(1);
    let calm = stall.every.saturating_sub(stall.pause).as_nanos();
    if within >= calm {
        let left = stall.every.as_nanos() - within;
        thread::sleep(Duration::from_nanos(left as u64));
    }
}

fn content_length(head: &[u8]) -> usize {
    let text = String::from_utf8_lossy(head.get(..head.len().min(4096)).unwrap_or_default());
    let value = text.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse().ok())?
    });
    value.unwrap_or(0)
}
