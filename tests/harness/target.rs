//! A server of HTTP whose answers change: what targets and Alertmanagers are to a test.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use super::PATIENCE;

/// What is answered to one path.
#[derive(Clone, Default)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
    pub(crate) wait: Duration,
}

impl Answer {
    /// Metrics in the text format.
    pub(crate) fn text(body: &str) -> Self {
        Self::of("text/plain; version=0.0.4", body.as_bytes())
    }

    pub(crate) fn of(kind: &str, body: &[u8]) -> Self {
        let headers = vec![("Content-Type".to_owned(), kind.to_owned())];
        Self { status: 200, headers, body: body.to_vec(), wait: Duration::ZERO }
    }

    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }
}

/// A request as it came.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) path: String,
    pub(crate) headers: HashMap<String, String>,
    pub(crate) body: String,
}

/// The server; it ends with the test.
pub(crate) struct Target {
    pub(crate) address: SocketAddr,
    answers: Arc<Mutex<HashMap<String, Answer>>>,
    asked: Arc<Mutex<Vec<Asked>>>,
}

impl Target {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (answers, asked) = (Arc::<Mutex<HashMap<_, _>>>::default(), Arc::default());
        let (known, seen): (Arc<_>, Arc<_>) = (Arc::clone(&answers), Arc::clone(&asked));
        std::thread::spawn(move || {
            for socket in listener.incoming().flatten() {
                let (known, seen) = (Arc::clone(&known), Arc::clone(&seen));
                std::thread::spawn(move || serve(socket, &known, &seen));
            }
        });
        Self { address, answers, asked }
    }

    /// From now on this is the answer to a path.
    pub(crate) fn set(&self, path: &str, answer: Answer) {
        self.answers.lock().unwrap().insert(path.to_owned(), answer);
    }

    /// What was asked so far.
    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }

    /// Waits until something was asked that fits.
    pub(crate) fn wait_for(&self, what: &str, fits: impl Fn(&Asked) -> bool) -> Asked {
        let began = Instant::now();
        loop {
            if let Some(found) = self.asked().into_iter().find(|asked| fits(asked)) {
                return found;
            }
            let asked = self.asked();
            assert!(began.elapsed() < PATIENCE, "{what} was not asked: {asked:?}");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

fn serve(socket: TcpStream, answers: &Mutex<HashMap<String, Answer>>, asked: &Mutex<Vec<Asked>>) {
    let mut reader = BufReader::new(socket.try_clone().unwrap());
    let mut socket = socket;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap_or(0) == 0 {
            return;
        }
        let path = line.split(' ').nth(1).unwrap_or_default().to_owned();
        let mut headers = HashMap::new();
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line).unwrap_or(0) == 0 {
                return;
            }
            let Some((name, value)) = line.trim_end().split_once(": ") else { break };
            headers.insert(name.to_ascii_lowercase(), value.to_owned());
        }
        let length = headers.get("content-length").and_then(|text| text.parse().ok());
        let mut body = vec![0; length.unwrap_or(0)];
        if reader.read_exact(&mut body).is_err() {
            return;
        }
        let body = String::from_utf8_lossy(&body).into_owned();
        asked.lock().unwrap().push(Asked { path: path.clone(), headers, body });
        let known = answers.lock().unwrap().get(&path).cloned();
        let answer = known.unwrap_or(Answer { status: 404, ..Answer::default() });
        std::thread::sleep(answer.wait);
        let mut head = format!("HTTP/1.1 {} Said\r\n", answer.status);
        for (name, value) in &answer.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str(&format!("Content-Length: {}\r\n\r\n", answer.body.len()));
        if socket.write_all(head.as_bytes()).is_err() || socket.write_all(&answer.body).is_err() {
            return;
        }
    }
}
