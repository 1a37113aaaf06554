//! Caps on a server: cores by `taskset`, memory by a control group of its own, version 2 or 1 of
//! the kernel's interface, where this user may make one. What cannot be applied is said, never
//! pretended. Caps are taken off when they are dropped.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// (directory, file that holds the limit in bytes)
const MEMORY: [(&str, &str); 2] =
    [("/sys/fs/cgroup", "memory.max"), ("/sys/fs/cgroup/memory", "memory.limit_in_bytes")];

/// A process in a group with less memory.
pub(crate) struct MemoryCap {
    pid: u32,
    parent: PathBuf,
    group: PathBuf,
}

impl MemoryCap {
    /// Holds `pid` below `bytes` from now on; the error says why that is not possible.
    pub(crate) fn apply(pid: Option<u32>, bytes: u64) -> Result<MemoryCap, String> {
        let pid = pid.ok_or("no process id was given")?;
        let mut why = "no control groups here".to_owned();
        for (parent, file) in MEMORY {
            let parent = Path::new(parent);
            let group = parent.join(format!("foliot-bench-{pid}"));
            match enter(pid, &group, file, bytes) {
                Ok(()) => return Ok(MemoryCap { pid, parent: parent.to_owned(), group }),
                Err(error) => {
                    // What was made in vain is taken away again, if it was made.
                    let _ = fs::remove_dir(&group);
                    why = format!("{}: {error}", group.display());
                }
            }
        }
        Err(why)
    }
}

impl Drop for MemoryCap {
    fn drop(&mut self) {
        // A server that has ended has left its group by itself.
        let _ = fs::write(self.parent.join("cgroup.procs"), self.pid.to_string());
        let _ = fs::remove_dir(&self.group);
    }
}

fn enter(pid: u32, group: &Path, file: &str, bytes: u64) -> std::io::Result<()> {
    fs::create_dir(group)?;
    // Written in place: a file that does not exist must not be made.
    let limit = fs::OpenOptions::new().write(true).open(group.join(file))?;
    std::io::Write::write_all(&mut &limit, bytes.to_string().as_bytes())?;
    fs::write(group.join("cgroup.procs"), pid.to_string())
}

/// Binds all threads of a process to the first `count` cores; the error says why not.
pub(crate) fn bind_to_cores(pid: Option<u32>, count: usize) -> Result<(), String> {
    let pid = pid.ok_or("no process id was given")?;
    let cores = format!("0-{}", count.saturating_sub(1));
    let output = Command::new("taskset")
        .args(["-a", "-c", "-p", &cores, &pid.to_string()])
        .output()
        .map_err(|error| format!("taskset: {error}"))?;
    match output.status.success() {
        true => Ok(()),
        false => Err(String::from_utf8_lossy(&output.stderr).trim().to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cap_holds_or_says_why_not() {
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        match MemoryCap::apply(Some(child.id()), 64 << 20) {
            Ok(cap) => {
                let groups = fs::read_to_string(format!("/proc/{}/cgroup", child.id())).unwrap();
                assert!(groups.contains("foliot-bench-"), "{groups}");
                let group = cap.group.clone();
                drop(cap);
                assert!(!group.exists());
            }
            Err(why) => assert!(!why.is_empty()),
        }
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(MemoryCap::apply(None, 1).err().as_deref(), Some("no process id was given"));
    }
}
