//! A server of a suite while it runs: cleaned, configured, started, pinned, and stopped whatever
//! becomes of the experiment.

use std::fs::{self, File};
use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::definition::{Server, Words};
use crate::caps::bind;
use crate::say;
use crate::site::Site;

/// How often a server is asked whether it is ready, or has ended.
const ASK_EVERY: Duration = Duration::from_millis(50);

/// A started server; stopped when this is dropped.
pub(super) struct Started<'a> {
    server: &'a Server,
    dir: PathBuf,
    child: Child,
    pub(super) sites: Vec<Site>,
}

impl<'a> Started<'a> {
    /// Starts a server on an empty directory under `root`, and waits until it is ready.
    pub(super) fn start(server: &'a Server, root: &Path) -> io::Result<Started<'a>> {
        let named = |error: io::Error| io::Error::other(format!("{}: {error}", server.name));
        Started::try_start(server, root).map_err(named)
    }

    fn try_start(server: &'a Server, root: &Path) -> io::Result<Started<'a>> {
        let dir = root.join(&server.name);
        stop_leftover(server, &dir)?;
        clean(&dir)?;
        fs::create_dir_all(&dir)?;
        for (name, text) in &server.files {
            fs::write(dir.join(name), filled(text, &dir))?;
        }
        for words in &server.prepare {
            ask(words, &dir)?;
        }
        let log_path = root.join(format!("{}.log", server.name));
        let log = File::create(&log_path)?;
        let child = command(&server.start, &dir)?
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            // So that all of its processes can be stopped, and by nothing else.
            .process_group(0)
            .spawn()
            .map_err(|error| io::Error::other(format!("{:?}: {error}", server.start)))?;
        let mut started = Started { server, dir, child, sites: Vec::new() };
        let pid = started.child.id();
        if let Some(born) = born(pid) {
            fs::write(running(&started.dir), format!("{pid} {born}"))?;
        }
        started.wait_until_ready(&log_path)?;
        started.watch()?;
        Ok(started)
    }

    fn wait_until_ready(&mut self, log: &Path) -> io::Result<()> {
        let end = Instant::now() + Duration::from_secs(self.server.ready_s);
        let site = self.server.sites.first().map(|site| Site::parse(site));
        let site = site.ok_or("no site").map_err(io::Error::other)?.map_err(io::Error::other)?;
        loop {
            let is_ready = match &self.server.ready {
                Some(words) => ask(words, &self.dir).map(drop),
                None => site.reach(),
            };
            let Err(error) = is_ready else { return Ok(()) };
            let ended = self.child.try_wait()?;
            // What starts a container ends when it has.
            let has_failed =
                ended.is_some_and(|status| !status.success() || self.server.pid.is_none());
            if has_failed || Instant::now() >= end {
                let text = fs::read(log).unwrap_or_default();
                let text = String::from_utf8_lossy(&text).into_owned();
                let last = text.lines().rev().find(|line| !line.trim().is_empty());
                let why = match ended {
                    Some(status) => format!("ended ({status})"),
                    None => format!("not ready after {} s: {error}", self.server.ready_s),
                };
                let last = last.unwrap_or("it said nothing");
                return Err(io::Error::other(format!("{why}: {last}")));
            }
            thread::sleep(ASK_EVERY);
        }
    }

    /// Finds the server's process, pins it, and says to its sites where its costs are seen.
    fn watch(&mut self) -> io::Result<()> {
        let pid = match &self.server.pid {
            None => self.child.id(),
            Some(words) => {
                let said = ask(words, &self.dir)?;
                let wrong = |_| io::Error::other(format!("{words:?}: {said:?} is no process id"));
                said.parse().map_err(wrong)?
            }
        };
        for text in &self.server.sites {
            let mut site = Site::parse(text).map_err(io::Error::other)?;
            site.watched.pid = Some(pid);
            site.watched.data_dir = Some(self.dir.clone());
            self.sites.push(site);
        }
        if let (Some(cpus), Some(site)) = (&self.server.cpus, self.sites.first()) {
            bind(&site.watched.pids(), cpus).map_err(io::Error::other)?;
        }
        Ok(())
    }

    fn stop(&mut self) -> io::Result<()> {
        stop_by_command(self.server, &self.dir);
        let pid = self.child.id();
        // What started a container ended long ago, and its number may be another's by now.
        if self.server.pid.is_none() || self.child.try_wait()?.is_none() {
            self.end_group(pid)?;
        }
        fs::remove_file(running(&self.dir)).or_else(ignore_absent)?;
        clean(&self.dir)
    }

    fn end_group(&mut self, pid: u32) -> io::Result<()> {
        signal("TERM", pid);
        let end = Instant::now() + Duration::from_secs(self.server.stop_s);
        while self.child.try_wait()?.is_none() {
            if Instant::now() >= end {
                say(&format!(
                    "{}: still there after {} s, killed",
                    self.server.name, self.server.stop_s
                ));
                break;
            }
            thread::sleep(ASK_EVERY);
        }
        signal("KILL", pid);
        self.child.wait().map(drop)
    }
}

impl Drop for Started<'_> {
    fn drop(&mut self) {
        if let Err(error) = self.stop() {
            say(&format!("{}: {error}", self.server.name));
        }
    }
}

/// Stops a server that a suite which crashed left running; a process that merely has its number
/// now is left alone.
fn stop_leftover(server: &Server, dir: &Path) -> io::Result<()> {
    let path = running(dir);
    let Ok(text) = fs::read_to_string(&path) else { return Ok(()) };
    say(&format!("{}: stopping what was left running", server.name));
    stop_by_command(server, dir);
    let (pid, then) = text.split_once(' ').unwrap_or_default();
    if let Some(pid) = pid.parse().ok().filter(|pid| born(*pid).as_deref() == Some(then)) {
        signal("TERM", pid);
        let end = Instant::now() + Duration::from_secs(server.stop_s);
        while born(pid).as_deref() == Some(then) && Instant::now() < end {
            thread::sleep(ASK_EVERY);
        }
        if born(pid).as_deref() == Some(then) {
            signal("KILL", pid);
        }
    }
    fs::remove_file(path)
}

fn stop_by_command(server: &Server, dir: &Path) {
    if let Some(Err(error)) = server.stop.as_ref().map(|words| ask(words, dir)) {
        say(&format!("{}: {error}", server.name));
    }
}

/// Sends a signal to a server's whole process group.
fn signal(name: &str, leader: u32) {
    let group = format!("-{leader}");
    let quiet = || Stdio::null();
    let sent = Command::new("kill").args(["-s", name, "--", &group]).stderr(quiet()).status();
    if let Err(error) = sent {
        say(&format!("kill: {error}"));
    }
}

/// When a process began, in ticks since the machine did: with its number, its identity.
fn born(pid: u32) -> Option<String> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name before the last bracket may hold anything (proc_pid_stat(5), field 22).
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    let state = fields.next()?;
    (state != "Z").then(|| fields.nth(18).map(str::to_owned)).flatten()
}

/// Beside the directory, because that is emptied.
fn running(dir: &Path) -> PathBuf {
    dir.with_added_extension("running")
}

fn clean(dir: &Path) -> io::Result<()> {
    fs::remove_dir_all(dir).or_else(ignore_absent)
}

fn ignore_absent(error: io::Error) -> io::Result<()> {
    if error.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(error) }
}

fn filled(text: &str, dir: &Path) -> String {
    text.replace("{dir}", &dir.display().to_string())
}

fn command(words: &Words, dir: &Path) -> io::Result<Command> {
    let mut words = words.iter().map(|word| filled(word, dir));
    let program = words.next().ok_or_else(|| io::Error::other("a command is empty"))?;
    let mut command = Command::new(program);
    command.args(words);
    Ok(command)
}

/// What a command prints; an error where it fails.
pub(super) fn ask(words: &Words, dir: &Path) -> io::Result<String> {
    let at = |error: String| io::Error::other(format!("{}: {error}", words.join(" ")));
    let output = command(words, dir)?.stdin(Stdio::null()).output();
    let output = output.map_err(|error| at(error.to_string()))?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned()),
        false => {
            let said = String::from_utf8_lossy(&output.stderr);
            Err(at(format!("{}: {}", output.status, said.trim())))
        }
    }
}
