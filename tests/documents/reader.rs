//! A reader who types what a page says.

use crate::harness::{Scratch, foliot};
use crate::page::{Block, blocks, unmarked};
use crate::{curl, root};
use rustix::process::{Pid, Signal, kill_process_group};
use std::collections::HashMap;
use std::fmt::Write as _;
use std::net::TcpListener;
use std::os::unix::fs::symlink;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

/// How long a page may take before the test says that it hangs.
const PATIENCE: Duration = Duration::from_secs(300);

/// Begins the line that is printed before each block.
const MARK: &str = "\u{1}block ";

/// Which port a page's server listens on unless it is told otherwise.
const PORT: u16 = 4242;

/// What README has its reader start by `make run`, and until it has measured something.
const MAKE_RUN: &str = "foliot serve --set agent.host=true --set agent.interval=1s 2>log &
until curl -s 'http://127.0.0.1:4242/api/suggest?type=metrics&q=proc.loadavg.1' | grep -q proc
do sleep 0.1; done
";

/// Types every block of a page that can be typed, and looks for what it is to show.
pub(crate) fn follow(path: &Path) {
    let name = path.strip_prefix(root()).unwrap().display();
    let text = std::fs::read_to_string(path).unwrap();
    let blocks = blocks(&text);
    let wrong = unmarked(&blocks);
    assert!(wrong.is_empty(), "{name}: {}", wrong.join("; "));
    let typed: Vec<&Block> = blocks.iter().filter(|block| block.mark == "run").collect();
    if typed.is_empty() {
        return;
    }
    let prelude = if path.ends_with("README.md") { MAKE_RUN } else { "" };
    let (is_done, shown) = type_in(prelude, &typed);
    let parts: HashMap<usize, &str> = shown
        .split(MARK)
        .skip(1)
        .filter_map(|part| part.split_once('\n'))
        .filter_map(|(line, shown)| Some((line.trim().parse().ok()?, shown)))
        .collect();
    let last = parts.keys().max();
    assert!(is_done, "{name}: the block in line {last:?} failed:\n{shown}");
    let mut before = None;
    for block in &blocks {
        if let ("shows", Some(line)) = (block.mark.as_str(), before) {
            let shown = parts.get(&line).copied().unwrap_or_default();
            let missing = missing(&block.text, shown);
            assert!(
                missing.is_none(),
                "{name}: the block in line {line} does not show {:?}; it shows:\n{shown}",
                missing.unwrap_or_default()
            );
        }
        if block.mark == "run" {
            before = Some(block.line);
        }
    }
}

/// Types blocks into one shell in an empty directory: whether all succeeded, and what they printed.
fn type_in(prelude: &str, blocks: &[&Block]) -> (bool, String) {
    let dir = Scratch::new();
    let (bin, work) = (dir.path().join("bin"), dir.path().join("work"));
    std::fs::create_dir_all(&bin).unwrap();
    std::fs::create_dir_all(&work).unwrap();
    symlink(foliot().get_program(), bin.join("foliot")).unwrap();
    let real = std::env::var_os("DOCUMENTS_CURL");
    let curl = real.map_or_else(|| std::env::current_exe().unwrap(), Into::into);
    symlink(curl, bin.join(curl::NAME)).unwrap();
    symlink(root().join("deploy"), work.join("deploy")).unwrap();

    let mut script = String::from("set -euo pipefail\nexec 2>&1\n") + prelude;
    for block in blocks {
        // Writing to memory cannot fail.
        let _ = write!(script, "\nprintf '\\n\\001block {}\\n'\n{}", block.line, block.text);
    }
    let (script, port) = on_free_ports(&script);
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap_or_default());
    let shown = dir.path().join("shown");
    let mut command = Command::new("bash");
    command
        .args(["-c", &script])
        .current_dir(&work)
        .env("PATH", path)
        .env("HOME", &work)
        .env("FOLIOT_URL", format!("http://127.0.0.1:{port}"))
        .env("FOLIOT_LISTEN_ADDRESS", format!("127.0.0.1:{port}"))
        .stdin(std::process::Stdio::null())
        .stdout(std::fs::File::create(&shown).unwrap())
        .process_group(0);
    let mut child = command.spawn().unwrap();
    let group = Pid::from_raw(child.id() as i32).unwrap();
    let began = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break Some(status);
        }
        if began.elapsed() > PATIENCE {
            break None;
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    // Servers that the page left running, if any are.
    let _ = kill_process_group(group, Signal::KILL);
    let _ = child.wait();
    let shown = String::from_utf8_lossy(&std::fs::read(&shown).unwrap()).into_owned();
    (status.is_some_and(|status| status.success()), shown)
}

/// The script with every port of this machine replaced by a free one, and the one in place of
/// [`PORT`].
fn on_free_ports(script: &str) -> (String, u16) {
    let mut ports = HashMap::from([(PORT, free_port())]);
    let mut out = String::new();
    let mut rest = script;
    let hosts = ["127.0.0.1:", "127.0.0.1/", "localhost:"];
    loop {
        let found = hosts.iter().filter_map(|host| Some(rest.find(host)? + host.len())).min();
        let Some(at) = found else { break };
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        if let Ok(port) = rest[..digits].parse::<u16>() {
            let port = ports.entry(port).or_insert_with(free_port);
            out.push_str(&port.to_string());
            rest = &rest[digits..];
        }
    }
    out.push_str(rest);
    (out, ports[&PORT])
}

fn free_port() -> u16 {
    TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port()
}

/// The first piece of `expected` that does not stand in `shown` behind the pieces before it.
///
/// Blanks side by side are one: a table's columns are as wide as their values, and a time whose
/// last nanoseconds are zero is written shorter.
fn missing(expected: &str, shown: &str) -> Option<String> {
    let shown = with_single_blanks(shown);
    let mut rest = shown.as_str();
    for piece in expected.lines().flat_map(|line| line.split('…')).map(with_single_blanks) {
        match rest.split_once(&piece) {
            Some((_, after)) => rest = after,
            None => return Some(piece),
        }
    }
    None
}

/// The words of each line with one blank between two of them.
fn with_single_blanks(text: &str) -> String {
    let lines = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
    lines.collect::<Vec<_>>().join("\n")
}

pub(crate) fn answers_are_told() {
    assert_eq!(missing("a…c\nd\n", "xa b c\n d"), None);
    assert_eq!(missing("a…c\nb\n", "a b c"), Some("b".to_owned()));
    assert_eq!(missing("abc", "ab"), Some("abc".to_owned()));
    assert_eq!(missing("time   bed\n…  north", "time  bed\n20Z north"), None);
    assert_eq!(missing("time bed", "timebed"), Some("time bed".to_owned()));
    let (script, port) = on_free_ports("x 127.0.0.1:4242/a 127.0.0.1/4242 localhost:80 127.0.0.1");
    assert!(script.starts_with(&format!("x 127.0.0.1:{port}/a 127.0.0.1/{port} localhost:")));
    assert!(port != PORT && !script.contains("localhost:80 ") && script.ends_with(" 127.0.0.1"));
    let block = |text: &str| Block { text: text.to_owned(), ..Block::default() };
    let (is_done, shown) = type_in("", &[&block("echo one\nfalse\necho two\n")]);
    assert!(!is_done && shown.contains("one") && !shown.contains("two"), "{shown}");
}
