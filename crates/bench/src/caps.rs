//! Caps on a server: cores by `taskset`, memory and disk by control groups of its own, version 2
//! or 1 of the kernel's interface (kernel.org, "Control Group v2"; "Block IO Controller"), where
//! this user may make them. What cannot be applied is said, never pretended. Caps are taken off
//! when they are dropped.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::disk::device;
use crate::server::Watched;

/// What a server may have; none = what the machine has.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Allowance {
    pub(crate) cores: Option<usize>,
    pub(crate) memory_bytes: Option<u64>,
    /// Bytes per second, reading and writing each.
    pub(crate) disk_bytes: Option<u64>,
}

/// Says that there is no cap.
const WHOLE: &str = "the machine's";

/// A process that has less than the machine; all of it again when this is dropped.
pub(crate) struct Caps {
    pids: Vec<u32>,
    groups: Vec<Group>,
    /// What came of each cap, in words.
    pub(crate) cores: String,
    pub(crate) memory: String,
    pub(crate) disk: String,
}

/// A control group that was made here.
struct Group {
    parent: PathBuf,
    path: PathBuf,
}

/// How a cap is written: under which root, and which files hold which text.
struct Control {
    root: &'static str,
    files: Vec<(&'static str, String)>,
}

impl Caps {
    /// Holds a server to its allowance from now on, as far as this user may.
    pub(crate) fn apply(watched: &Watched, allowance: Allowance) -> Caps {
        let (mut groups, pids) = (Vec::new(), watched.pids());
        let mut control = |controls: Result<Vec<Control>, String>, amount: String| {
            let group = controls.and_then(|controls| enter_any(&pids, &controls))?;
            groups.push(group);
            Ok(amount)
        };
        let memory = allowance
            .memory_bytes
            .map(|bytes| control(Ok(memory(bytes)), format!("{} MiB", bytes >> 20)));
        let disk = allowance
            .disk_bytes
            .map(|bytes| control(disk(watched, bytes), format!("{} MB/s", bytes / 1_000_000)));
        let cores =
            allowance.cores.map(|count| bind_to_cores(&pids, count).map(|()| count.to_string()));
        let [cores, memory, disk] = [cores, memory, disk].map(|applied| match applied {
            None => WHOLE.to_owned(),
            Some(Ok(amount)) => amount,
            Some(Err(why)) => format!("not applied: {why}"),
        });
        Caps { pids, groups, cores, memory, disk }
    }
}

impl Drop for Caps {
    fn drop(&mut self) {
        // Where binding failed before it fails again, and that has been said.
        let _ = bind_to_all_cores(&self.pids);
        for group in &self.groups {
            let inside = fs::read_to_string(group.path.join("cgroup.procs")).unwrap_or_default();
            for pid in inside.lines() {
                // Who has ended meanwhile has left by itself.
                let _ = fs::write(group.parent.join("cgroup.procs"), pid);
            }
            let _ = fs::remove_dir(&group.path);
        }
    }
}

fn memory(bytes: u64) -> Vec<Control> {
    vec![
        Control { root: "/sys/fs/cgroup", files: vec![("memory.max", bytes.to_string())] },
        Control {
            root: "/sys/fs/cgroup/memory",
            files: vec![("memory.limit_in_bytes", bytes.to_string())],
        },
    ]
}

fn disk(watched: &Watched, bytes: u64) -> Result<Vec<Control>, String> {
    let directory = watched.data_dir.as_deref().ok_or("no data directory was given")?;
    let (major, minor) = device(directory).ok_or("the data directory has no disk of its own")?;
    let each = format!("{major}:{minor} {bytes}");
    Ok(vec![
        Control {
            root: "/sys/fs/cgroup",
            files: vec![("io.max", format!("{major}:{minor} rbps={bytes} wbps={bytes}"))],
        },
        Control {
            root: "/sys/fs/cgroup/blkio",
            files: vec![
                ("blkio.throttle.read_bps_device", each.clone()),
                ("blkio.throttle.write_bps_device", each),
            ],
        },
    ])
}

/// Enters the first group that can be made; the error is that of the last.
fn enter_any(pids: &[u32], controls: &[Control]) -> Result<Group, String> {
    let pid = pids.first().ok_or("no process id was given")?;
    let mut why = "no control groups here".to_owned();
    for control in controls {
        let parent = PathBuf::from(control.root);
        let path = parent.join(format!("foliot-bench-{pid}"));
        match enter(pids, &path, &control.files) {
            Ok(()) => return Ok(Group { parent, path }),
            Err(error) => {
                // What was made in vain is taken away again; a group that is in use stays.
                let _ = fs::remove_dir(&path);
                why = format!("{}: {error}", path.display());
            }
        }
    }
    Err(why)
}

/// Makes a group with these limits and moves all processes into it; their later children follow.
fn enter(pids: &[u32], group: &Path, files: &[(&str, String)]) -> io::Result<()> {
    match fs::create_dir(group) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    for (file, text) in files {
        // Written in place: a file that does not exist must not be made.
        let limit = fs::OpenOptions::new().write(true).open(group.join(file))?;
        (&limit).write_all(text.as_bytes())?;
    }
    let mut pids = pids.iter();
    // Who has ended meanwhile needs no limit; the server itself must be there.
    let Some(server) = pids.next() else { return Ok(()) };
    pids.for_each(|pid| drop(fs::write(group.join("cgroup.procs"), pid.to_string())));
    fs::write(group.join("cgroup.procs"), server.to_string())
}

/// Gives processes their cores back.
pub(crate) fn bind_to_all_cores(pids: &[u32]) -> Result<(), String> {
    bind_to_cores(pids, std::thread::available_parallelism().map_or(1, usize::from))
}

/// Binds all threads of a server's processes to the first `count` cores; the error says why its
/// first one is not.
pub(crate) fn bind_to_cores(pids: &[u32], count: usize) -> Result<(), String> {
    bind(pids, &format!("0-{}", count.saturating_sub(1)))
}

/// Binds them to cores that are listed as `taskset` reads them.
pub(crate) fn bind(pids: &[u32], cores: &str) -> Result<(), String> {
    let (server, children) = pids.split_first().ok_or("no process id was given")?;
    let bind = |pid: &u32| {
        let output = Command::new("taskset")
            .args(["-a", "-c", "-p", cores, &pid.to_string()])
            .output()
            .map_err(|error| format!("taskset: {error}"))?;
        match output.status.success() {
            true => Ok(()),
            false => Err(String::from_utf8_lossy(&output.stderr).trim().to_owned()),
        }
    };
    bind(server)?;
    // A child may have ended meanwhile, and one that begins has its parent's cores.
    children.iter().for_each(|child| drop(bind(child)));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: Allowance =
        Allowance { cores: Some(1), memory_bytes: Some(64 << 20), disk_bytes: Some(10_000_000) };

    #[test]
    fn caps_hold_or_say_why_not() {
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        let here = std::env::current_exe().unwrap().parent().unwrap().to_owned();
        let watched = Watched::new(Some(child.id()), Some(here));
        let caps = Caps::apply(&watched, SMALL);
        let groups = fs::read_to_string(format!("/proc/{}/cgroup", child.id())).unwrap();
        let held = groups.contains("foliot-bench-");
        assert_eq!(held, !caps.groups.is_empty(), "{groups}");
        for (said, amount) in [(&caps.memory, "64 MiB"), (&caps.disk, "10 MB/s")] {
            assert!(said == amount || said.starts_with("not applied: "), "{said}");
        }
        for group in &caps.groups {
            let inside = fs::read_to_string(group.path.join("cgroup.procs")).unwrap();
            assert_eq!(inside.trim(), child.id().to_string());
        }
        let paths: Vec<PathBuf> = caps.groups.iter().map(|group| group.path.clone()).collect();
        drop(caps);
        assert!(paths.iter().all(|path| !path.exists()), "{paths:?}");
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn nobody_cannot_be_held() {
        let caps = Caps::apply(&Watched::default(), SMALL);
        let why = "not applied: no process id was given";
        assert_eq!((caps.cores.as_str(), caps.memory.as_str()), (why, why));
        assert_eq!(caps.disk, "not applied: no data directory was given");
        let whole = Allowance { cores: None, memory_bytes: None, disk_bytes: None };
        assert_eq!(Caps::apply(&Watched::default(), whole).cores, WHOLE);
    }
}
