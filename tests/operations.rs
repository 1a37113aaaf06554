//! What whoever runs a store does to it from outside: back it up, restore it, check it, mend it,
//! look into it.

use crate::harness;
use crate::harness::terminal::Terminal;
use crate::harness::{PATIENCE, Scratch, Server, foliot};
use rustix::process::Signal;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Runs a command that must succeed; what it printed.
fn run(command: &str, data_dir: &Path, path: &Path) -> String {
    let output = foliot().arg(command).arg("--data-dir").arg(data_dir).arg(path).output().unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success() && error.is_empty(), "{error}");
    String::from_utf8(output.stdout).unwrap()
}

/// Runs a command that must fail; what it said.
fn refused(command: &str, data_dir: &Path, path: &Path) -> String {
    let output = foliot().arg(command).arg("--data-dir").arg(data_dir).arg(path).output().unwrap();
    assert!(!output.status.success());
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(error.lines().count(), 1, "{error}");
    error
}

/// Writes the points numbered `from..to`, each acknowledged.
fn write(server: &Server, from: usize, to: usize) {
    let lines: Vec<_> = (from..to)
        .map(|n| format!("op,host=h{} a={n}i {}", n % 10, (n as i64 + 1) * 1_000_000_000))
        .collect();
    assert_eq!(server.post("/write?db=default", &lines.join("\n")).status, 204);
}

/// How many of the points there are, after checking their values.
fn points(server: &Server) -> usize {
    let samples = server.samples("zimsum:op.a");
    for (ms, value) in &samples {
        assert_eq!((ms / 1000 - 1).to_string(), *value);
    }
    samples.len()
}

fn output(arguments: &[&str]) -> (bool, String, String) {
    let output = foliot().args(arguments).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.success(), text(output.stdout), text(output.stderr))
}

fn backups(dir: &Path) -> Vec<PathBuf> {
    let mut all: Vec<_> = std::fs::read_dir(dir).unwrap().map(|e| e.unwrap().path()).collect();
    all.sort();
    all
}

#[test]
fn a_running_store_is_backed_up_and_restored() {
    let dir = Scratch::new();
    let (data, into) = (dir.path().join("data"), dir.path().join("backups"));
    // A head so small that it is flushed while the test runs.
    let flags = ["--head-bytes", "20KiB", "--wal-ack", "os"];
    let server = Server::start(&data, &flags);
    for round in 0..20 {
        write(&server, round * 5000, (round + 1) * 5000);
    }
    server.wait_for_metric("foliot_flushes_total", 1.0);
    let said = run("backup", &data, &into);
    assert!(
        said.starts_with("backed up ") && said.contains("copied") && !said.contains("shared"),
        "{said}"
    );
    write(&server, 100_000, 100_100);
    // Two of one second are two.
    let said = run("backup", &data, &into);
    assert!(!said.contains(" 0 files with 0 bytes shared"), "parts are shared: {said}");
    write(&server, 100_100, 100_200);
    server.kill();
    let all = backups(&into);
    assert_eq!(all.len(), 2);
    for (backup, expected) in all.iter().zip([100_000, 100_100]) {
        let restored = dir.path().join(format!("restored-{expected}"));
        assert!(run("restore", &restored, backup).starts_with("restored "));
        let server = Server::start(&restored, &flags);
        assert_eq!(points(&server), expected);
        server.stop();
    }
    let server = Server::start(&data, &flags);
    assert_eq!(points(&server), 100_200);
    server.stop();
    let error = refused("restore", &data, &all[0]);
    assert!(error.contains("is not empty"), "{error}");
    let error = refused("restore", &dir.path().join("new"), &into);
    assert!(error.contains(all[1].to_str().unwrap()), "the newest is named: {error}");
    let error = refused("backup", &dir.path().join("nothing"), &into);
    assert!(error.contains("there is no store in") && error.contains("--data-dir"), "{error}");
}

/// A store with parts and a wal, closed; 100 000 points in it.
fn closed_store(data: &Path) {
    let server = Server::start(data, &["--head-bytes", "20KiB", "--wal-ack", "os"]);
    for round in 0..20 {
        write(&server, round * 5000, (round + 1) * 5000);
    }
    server.wait_for_metric("foliot_flushes_total", 1.0);
    server.stop();
    // With room in memory, so that no flush takes it out of the log.
    let server = Server::start(data, &[]);
    let line = "op,host=h\\ 1,k=v\\=w s=\"a \\\"b\\\"\",f=0.25,b=true 7\n";
    assert_eq!(server.post("/write?db=default", line).status, 204);
    server.stop();
}

fn part(data: &Path) -> PathBuf {
    first(data, "part")
}

/// The first file with a name that ends so.
fn first(data: &Path, end: &str) -> PathBuf {
    let mut files: Vec<_> = std::fs::read_dir(data).unwrap().map(|e| e.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == end));
    files.sort();
    files.remove(0)
}

#[test]
fn a_store_that_lost_its_index_says_what_to_do() {
    let dir = Scratch::new();
    let data = dir.path().join("data");
    closed_store(&data);
    let index = first(&data, "idx");
    std::fs::remove_file(&index).unwrap();
    let (place, name) = (data.to_str().unwrap(), index.file_name().unwrap().to_str().unwrap());
    for command in ["serve", "retention"] {
        let (is_sound, _, error) = output(&[command, "--data-dir", place]);
        assert!(!is_sound && error.contains(name), "{command}: {error}");
        let next = format!("foliot check --repair --data-dir {place}");
        assert!(error.contains(&next), "{command}: {error}");
    }
    let (is_sound, said, _) = output(&["check", "--data-dir", place]);
    let problems: Vec<_> = said.lines().filter(|line| line.starts_with("problem: ")).collect();
    assert!(!is_sound && problems.iter().all(|problem| problem.contains(name)), "{said}");
}

#[test]
fn damage_is_found_and_mended() {
    let dir = Scratch::new();
    let data = dir.path().join("data");
    closed_store(&data);
    let place = data.to_str().unwrap();
    let (is_sound, said, error) = output(&["check", "--data-dir", place]);
    assert!(is_sound && said.ends_with("nothing is wrong\n") && error.is_empty(), "{said}{error}");
    let part = part(&data);
    let mut bytes = std::fs::read(&part).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&part, &bytes).unwrap();
    let (is_sound, said, _) = output(&["check", "--data-dir", place]);
    let name = part.file_name().unwrap().to_str().unwrap();
    assert!(!is_sound && said.contains("problem: ") && said.contains(name), "{said}");
    assert!(said.contains("check --repair"), "{said}");
    // It is tried first, and that changes nothing.
    let files = |dir: &Path| -> Vec<(PathBuf, Option<Vec<u8>>)> {
        let mut paths: Vec<_> =
            std::fs::read_dir(dir).unwrap().map(|e| e.unwrap().path()).collect();
        paths.sort();
        paths.into_iter().map(|path| (path.clone(), std::fs::read(path).ok())).collect()
    };
    let before = files(&data);
    let (is_sound, tried, _) = output(&["check", "--repair", "--data-dir", place]);
    assert!(!is_sound && tried.contains("would mend: ") && tried.contains("--yes"), "{tried}");
    assert!(tried.contains("cp -a") && tried.contains("nothing was changed"), "{tried}");
    assert_eq!(files(&data), before);
    let (is_sound, said, _) = output(&["check", "--repair", "--yes", "--data-dir", place]);
    assert!(
        is_sound && said.contains("mended: ") && said.ends_with("nothing is wrong\n"),
        "{said}"
    );
    let sentences = |said: &str, what: &str| -> Vec<String> {
        said.lines().filter_map(|line| line.strip_prefix(what)).map(str::to_owned).collect()
    };
    assert_eq!(sentences(&tried, "would mend: "), sentences(&said, "mended: "));
    // Nothing is left to mend.
    let (is_sound, tried, _) = output(&["check", "--repair", "--data-dir", place]);
    assert!(is_sound && tried.ends_with("nothing is wrong\n"), "{tried}");
    assert_eq!(std::fs::read(data.join("quarantine").join(name)).unwrap(), bytes);
    let server = Server::start(&data, &[]);
    let (is_sound, _, error) = output(&["check", "--data-dir", place]);
    assert!(!is_sound && error.contains("in use by another Foliot process"), "{error}");
    server.stop();
    let nothing = dir.path().join("nothing");
    let (_, _, error) = output(&["check", "--data-dir", nothing.to_str().unwrap()]);
    assert!(error.contains("there is no store in") && !nothing.exists(), "{error}");
}

#[test]
fn what_a_repair_loses_is_told_as_lost_and_what_it_gives_up_is_audited() {
    let dir = Scratch::new();
    let data = dir.path().join("data");
    closed_store(&data);
    let place = data.to_str().unwrap();
    // Nothing of a part can be read without its last page.
    let damaged = part(&data);
    let mut bytes = std::fs::read(&damaged).unwrap();
    let len = bytes.len();
    bytes[len.saturating_sub(3 * 4096)..].fill(7);
    std::fs::write(&damaged, &bytes).unwrap();
    let name = damaged.file_name().unwrap().to_str().unwrap();
    let losses = |said: &str, what: &str| -> Vec<String> {
        said.lines().filter_map(|line| line.strip_prefix(what)).map(str::to_owned).collect()
    };
    let (is_sound, tried, _) = output(&["check", "--repair", "--lose-parts", "--data-dir", place]);
    let lost = losses(&tried, "would stay lost: ");
    assert!(!is_sound && lost.len() == 1 && lost[0].contains(name), "{tried}");
    assert!(lost[0].contains(": saved 0 of its "), "{tried}");
    assert!(!tried.contains("would mend: ") && !tried.contains("note: "), "{tried}");
    let next = format!("`foliot check --repair --yes --lose-parts --data-dir {place}`");
    assert!(tried.contains(&next), "{tried}");
    let (is_sound, said, _) =
        output(&["check", "--repair", "--yes", "--lose-parts", "--data-dir", place]);
    assert_eq!(losses(&said, "lost: "), lost);
    assert!(is_sound && !said.contains("mended: "), "{said}");
    assert!(said.lines().last().unwrap().starts_with("nothing is wrong with what is left; "));
    // That was the disk's doing, not somebody's word.
    let audit = data.join("audit.log");
    assert!(!audit.exists());

    let missing = first(&data, "cat");
    std::fs::remove_file(&missing).unwrap();
    let name = missing.file_name().unwrap().to_str().unwrap();
    std::fs::write(&audit, "{}\n").unwrap();
    let (_, tried, _) = output(&["check", "--repair", "--lose-facts", "--data-dir", place]);
    let lost = losses(&tried, "would stay lost: ");
    assert!(lost.len() == 1 && lost[0].contains(name), "{tried}");
    assert!(tried.contains("--repair --yes --lose-facts --data-dir"), "{tried}");
    assert_eq!(std::fs::read_to_string(&audit).unwrap(), "{}\n", "a trial takes nothing away");
    let (is_sound, said, _) =
        output(&["check", "--repair", "--yes", "--lose-facts", "--data-dir", place]);
    assert!(is_sound && losses(&said, "lost: ").len() == 1, "{said}");
    let line = std::fs::read_to_string(&audit).unwrap().lines().last().unwrap().to_owned();
    let told = format!("\"act\":\"lose facts\",\"file\":\"{name}\"}}");
    assert!(line.ends_with(&told), "{line}");
}

#[test]
fn a_damaged_log_is_told_wherever_one_looks_until_a_flush_is_past_it() {
    let dir = Scratch::new();
    let data = dir.path().join("data");
    let server = Server::start(&data, &[]);
    (0..20).for_each(|round| write(&server, round * 10, (round + 1) * 10));
    server.stop();
    let is_wal = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "log");
    let wal = backups(&data).into_iter().find(|path| is_wal(path) && !path.ends_with("audit.log"));
    let wal = wal.unwrap();
    let mut bytes = std::fs::read(&wal).unwrap();
    // Samples, behind the first write with its registrations and before the last one.
    let samples = bytes.len() * 3 / 4;
    bytes[samples] ^= 1;
    std::fs::write(&wal, &bytes).unwrap();

    let copy = dir.path().join("copy");
    let (is_whole, said, _) =
        output(&["backup", "--data-dir", data.to_str().unwrap(), copy.to_str().unwrap()]);
    assert!(said.contains("bytes of the log are damaged, in the store and in the copy"), "{said}");
    assert!(!is_whole, "a script would remove older backups");
    let place = data.to_str().unwrap();
    let (is_sound, said, _) = output(&["check", "--repair", "--yes", "--data-dir", place]);
    assert!(!is_sound && said.contains("until a flush"), "{said}");

    let server = Server::start(&data, &["--head-bytes", "20KiB"]);
    let told = "the log was damaged when this process started";
    let ready = server.get("/-/ready");
    assert!(ready.status == 200 && ready.text().contains(told), "{}", ready.text());
    assert!(server.get("/health").text().contains(told), "{}", server.get("/health").text());
    assert_eq!(points(&server), 190, "one write of ten");
    (0..20).for_each(|round| write(&server, 1000 + round * 5000, 1000 + (round + 1) * 5000));
    server.wait_for_metric("foliot_flushes_total", 1.0);
    server.stop();
    let (is_sound, said, _) = output(&["check", "--data-dir", data.to_str().unwrap()]);
    assert!(is_sound, "{said}");
    let server = Server::start(&data, &[]);
    assert_eq!(server.get("/-/ready").text(), "ready\n");
    server.stop();
}

#[test]
fn a_store_is_told_in_words_and_in_lines() {
    let dir = Scratch::new();
    let data = dir.path().join("data");
    closed_store(&data);
    let place = data.to_str().unwrap();
    let (_, said, error) = output(&["inspect", place]);
    for words in ["manifest ", "  part 1", " host=h0 field a", "block of", "frame at", "samples"] {
        assert!(said.contains(words), "{words} is missing in {said}");
    }
    assert_eq!(error, "");
    // What is printed is what was written, part and wal together, each sample at least once.
    let (_, lines, error) = output(&["inspect", "--format", "line", place]);
    assert_eq!(error, "");
    let lines: std::collections::BTreeSet<&str> = lines.lines().collect();
    for n in 0..100_000 {
        let line = format!("op,host=h{} a={n}i {}", n % 10, (n as i64 + 1) * 1_000_000_000);
        assert!(lines.contains(&*line), "{line}");
    }
    for rest in ["s=\"a \\\"b\\\"\" 7", "f=0.25 7", "b=true 7"] {
        let line = format!("op,host=h\\ 1,k=v\\=w {rest}");
        assert!(lines.contains(&*line), "{line}");
    }
    assert_eq!(lines.len(), 100_003);
    // One file; OpenTSDB has no text.
    let part = part(&data);
    let (is_whole, lines, error) = output(&["inspect", "--format", "put", part.to_str().unwrap()]);
    assert!(is_whole && error.is_empty() && lines.starts_with("put op.a "), "{error}");
    let (is_whole, _, error) = output(&["inspect", "--format", "put", place]);
    assert!(!is_whole && error.contains("samples cannot be written in this format"), "{error}");
    let (_, _, error) = output(&["inspect", dir.path().to_str().unwrap()]);
    assert!(error.contains("there is no store in"), "{error}");
}

/// Samples that are in the log only are counted as well: a store that just began is not empty.
#[test]
fn a_check_counts_what_is_in_the_log() {
    let dir = Scratch::new();
    let data = dir.path().join("data");
    let server = Server::start(&data, &[]);
    assert_eq!(server.post("/write?db=default", "m,h=a v=1 1\nm,h=b v=2,w=3 2").status, 204);
    server.kill();
    let (is_whole, said, error) = output(&["check", "--data-dir", data.to_str().unwrap()]);
    assert!(is_whole, "{said} {error}");
    assert!(said.contains(" 3 series, 0 samples in 0 blocks, 3 in "), "{said}");
    assert!(said.contains(" frames of the log\n"), "{said}");
}

/// Whoever reads what is printed may stop early, as `head` does: nobody is told of an error.
#[test]
fn a_reader_that_has_read_enough_is_no_error() {
    let dir = Scratch::new();
    let data = dir.path().join("data");
    closed_store(&data);
    let data = data.to_str().unwrap();
    let commands: [&[&str]; 6] = [
        &["config", "docs"],
        &["config", "show"],
        &["completions", "bash"],
        &["check", "--data-dir", data],
        &["inspect", data],
        &["export", "--format", "line", "--data-dir", data, "-"],
    ];
    for command in commands {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = foliot().args(command).stdout(writer).output().unwrap();
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success() && error.is_empty(), "{command:?}: {error}");
    }
}

#[test]
fn a_store_is_not_copied_into_itself_nor_over_another_nor_made_by_reading() {
    let dir = Scratch::new();
    let (data, into) = (dir.path().join("data"), dir.path().join("backups"));
    let server = Server::start(&data, &[]);
    write(&server, 0, 10);
    let before = backups(&data);
    for inside in [data.clone(), data.join("backups/new"), data.join("../data/b"), data.join(".")] {
        let error = refused("backup", &data, &inside);
        assert!(error.contains("within the store's own directory"), "{error}");
    }
    std::os::unix::fs::symlink(&data, dir.path().join("link")).unwrap();
    let error = refused("backup", &data, &dir.path().join("link/b"));
    assert!(error.contains("within the store's own directory"), "{error}");
    assert_eq!(backups(&data), before, "nothing was made");
    // Beside the store is no part of it, however alike the names are.
    run("backup", &data, &dir.path().join("data-backups"));
    run("backup", &data, &into);
    let error = refused("restore", &data, &backups(&into)[0]);
    assert!(error.contains("is not empty") && error.contains("a server has open"), "{error}");
    write(&server, 10, 20);
    assert_eq!(points(&server), 20);
    server.stop();
    let error = refused("restore", &data, &backups(&into)[0]);
    assert!(error.contains("is not empty") && !error.contains("has open"), "{error}");
    let nothing = dir.path().join("nothing");
    let place = nothing.to_str().unwrap();
    for command in [
        &["export", "--format", "line", "--data-dir", place][..],
        &["user", "list", "--data-dir", place],
        &["user", "revoke", "u", "--data-dir", place],
        &["retention", "--data-dir", place],
        &["check", "--data-dir", place],
        &["check", "--repair", "--data-dir", place],
        &["check", "--repair", "--yes", "--data-dir", place],
    ] {
        let output = foliot().args(command).output().unwrap();
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{command:?}: {error}");
        assert!(error.contains("there is no store in") && error.contains("--data-dir"), "{error}");
        assert!(!nothing.exists(), "{command:?} made a store");
    }
}

#[test]
fn a_terminal_is_told_how_much_was_read_and_how_fast() {
    let dir = Scratch::new();
    let (data, copies) = (dir.path().join("data"), dir.path().join("copies"));
    let server = Server::start(&data, &[]);
    write(&server, 0, 100);
    server.stop();
    let [data, copies] = [&data, &copies].map(|path| path.to_str().unwrap());
    for (words, done) in [
        (&["check"][..], "nothing is wrong"),
        (&["check", "--repair"], "nothing is wrong"),
        (&["check", "--repair", "--yes"], "nothing is wrong"),
        (&["backup", copies], "backed up"),
        (&["export", "--format", "line", "-"], "100 samples of 10 series written"),
    ] {
        let mut command = foliot();
        command.args(words).args(["--data-dir", data]);
        let mut terminal = Terminal::start(command);
        terminal.wait_for(" read, ");
        terminal.wait_for("/s");
        if words != ["export", "--format", "line", "-"] {
            terminal.wait_for(done);
        }
        terminal.ends_well();
    }
    // A program that reads what is said is told the outcome alone.
    let (is_good, _, said) = output(&["check", "--data-dir", data]);
    assert!(is_good && said.is_empty(), "{said}");
}

/// The lines of a log in JSON.
fn log_lines(path: &Path) -> Vec<serde_json::Value> {
    let text = std::fs::read_to_string(path).unwrap();
    text.lines().map(|line| serde_json::from_str(line).expect(line)).collect()
}

#[test]
fn settings_are_read_again_as_far_as_a_running_server_can_obey() {
    let dir = Scratch::new();
    let (file, log) = (dir.path().join("foliot.toml"), dir.path().join("log"));
    std::fs::write(&file, "[log]\nformat = \"json\"\n").unwrap();
    let mut command = foliot();
    command.args(["serve", "--listen", "127.0.0.1:0", "--config"]).arg(&file);
    command.arg("--data-dir").arg(dir.path().join("data"));
    command.stdout(std::process::Stdio::piped()).stderr(std::fs::File::create(&log).unwrap());
    let server = Server::ready(command).unwrap();
    let cases = [
        ("[log]\nformat = \"json\"\n", "no setting has changed"),
        ("[log]\nformat = \"json\"\nlevel = \"debug\"\n", "changed: log.level"),
        (
            "[log]\nformat = \"json\"\n[limits]\nqueries = 3\n[mqtt]\npassword = \"x\"\n",
            "changed: log.level; at the next start only: limits.queries, mqtt.password",
        ),
        ("[log]\nformat = \"jsom\"\n", "'jsom' is neither text nor json"),
        ("[merge]\nparts = 1\n", "the settings stay as they are: merge.parts must be"),
    ];
    for (told, (text, expected)) in cases.into_iter().enumerate() {
        std::fs::write(&file, text).unwrap();
        server.signal(Signal::HUP);
        let began = Instant::now();
        let said = loop {
            let lines = log_lines(&log);
            let of_reload = |line: &&serde_json::Value| line["target"] == "foliot_server::reload";
            if let Some(line) = lines.iter().filter(of_reload).nth(told) {
                break line["message"].as_str().unwrap().to_owned();
            }
            assert!(began.elapsed() < PATIENCE, "nothing is said of {text}");
            std::thread::sleep(Duration::from_millis(5));
        };
        assert!(said.starts_with("SIGHUP: ") && said.contains(expected), "{text}: {said}");
    }
    for line in log_lines(&log) {
        let has = |name: &str| line[name].as_str().is_some_and(|text| !text.is_empty());
        assert!(["time", "level", "target", "thread", "message"].into_iter().all(has), "{line}");
    }
    server.stop();
}

#[test]
fn settings_are_shown_as_the_server_would_use_them() {
    let memory = ["--limits-memory-bytes", "64MiB"];
    let shown = |flags: &[&str]| {
        let words = [&["config", "show"][..], &memory, flags].concat();
        let (is_good, shown, said) = output(&words);
        assert!(is_good, "{said}");
        let line = shown.lines().find(|line| line.starts_with("head.bytes ")).unwrap();
        line.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    assert_eq!(shown(&[]), "head.bytes = 256MiB # default");
    assert_eq!(shown(&["--effective"]), "head.bytes = 1280KiB # default, fitted to the memory");
}

#[test]
fn a_backup_of_a_damaged_store_leaves_nothing() {
    let dir = Scratch::new();
    let (data, into) = (dir.path().join("data"), dir.path().join("backups"));
    closed_store(&data);
    let part = part(&data);
    let mut bytes = std::fs::read(&part).unwrap();
    let len = bytes.len();
    // More than the part's parity mends.
    bytes[len / 4..].fill(0x55);
    std::fs::write(&part, bytes).unwrap();
    let said = refused("backup", &data, &into);
    assert!(said.contains(".part"), "{said}");
    assert_eq!(backups(&into), Vec::<PathBuf>::new(), "not even an empty directory");
}

/// A script that goes on would remove the older backup, which has what this one lacks.
#[test]
fn a_copy_of_a_store_whose_log_lost_its_end_says_so_and_fails() {
    let dir = Scratch::new();
    let (data, into) = (dir.path().join("data"), dir.path().join("backups"));
    let server = Server::start(&data, &[]);
    write(&server, 0, 100);
    server.kill();
    std::fs::remove_file(data.join("wal-0000000000000000.log")).unwrap();
    let [data, into] = [&data, &into].map(|path| path.to_str().unwrap());
    let missing = "the newest segment of the log is missing";
    let (is_good, said, _) = output(&["backup", "--data-dir", data, into]);
    assert!(!is_good && said.contains(missing), "{said}");
    let copy = backups(Path::new(into)).remove(0);
    let restored = dir.path().join("restored");
    let (from, to) = (copy.to_str().unwrap(), restored.to_str().unwrap());
    let (is_good, said, _) = output(&["restore", from, "--data-dir", to]);
    assert!(!is_good && said.contains(missing), "{said}");
    let server = Server::start(Path::new(data), &[]);
    let noted = harness::api::get(&server, "backups")["backups"][0].clone();
    assert_eq!(noted["state"], "failed", "{noted}");
    server.stop();
}

#[test]
fn a_store_remembers_its_backups() {
    let dir = Scratch::new();
    let (data, into) = (dir.path().join("data"), dir.path().join("backups"));
    let server = Server::start(&data, &[]);
    write(&server, 0, 100);
    let told = || harness::api::get(&server, "backups");
    assert_eq!(told()["backups"], serde_json::json!([]));
    assert_eq!(told()["data_dir"], data.to_str().unwrap());
    run("backup", &data, &into);
    let list = told()["backups"].clone();
    let first = &list[0];
    assert_eq!((list.as_array().unwrap().len(), &first["state"]), (1, &"done".into()), "{list}");
    assert_eq!(first["to"], backups(&into)[0].to_str().unwrap());
    assert!(first["bytes_copied"].as_u64() > Some(0) && first["error"].is_null(), "{first}");
    assert!(first["began_ms"].as_u64() <= first["ended_ms"].as_u64(), "{first}");
    // Nothing can be made in a directory that is none.
    let file = dir.path().join("file");
    std::fs::write(&file, "").unwrap();
    refused("backup", &data, &file);
    assert_eq!(told()["backups"].as_array().unwrap().len(), 1, "what did not begin is no backup");
    // One that was killed has no end, and one whose process is there runs.
    let notes = std::fs::read_to_string(data.join("backups.log")).unwrap();
    let begun =
        |process: u32, to: &str| format!("{process}000\t0\t{process}\t0\t0\t0\t0\t0\t0\t{to}\t\n");
    let (mine, none) = (std::process::id(), 0);
    let more = format!("{notes}{}{}", begun(none, "/lost"), begun(mine, "/runs"));
    std::fs::write(data.join("backups.log"), more).unwrap();
    let list = told()["backups"].clone();
    let states: Vec<_> =
        list.as_array().unwrap().iter().map(|one| one["state"].as_str().unwrap()).collect();
    assert_eq!(states, ["running", "lost", "done"], "newest first: {list}");
    let jobs = harness::api::get(&server, "jobs")["jobs"].clone();
    assert_eq!((&jobs[0]["kind"], &jobs[0]["text"]), (&"backup".into(), &"/runs".into()), "{jobs}");
    assert_eq!(jobs.as_array().unwrap().len(), 1, "{jobs}");
    server.stop();
    // A copy remembers nothing, nor is it less of a store for that.
    let restored = dir.path().join("restored");
    run("restore", &restored, &backups(&into)[0]);
    assert!(!restored.join("backups.log").exists());
    let (is_sound, said, _) = output(&["check", "--data-dir", data.to_str().unwrap()]);
    assert!(is_sound, "a note is no damage: {said}");
}

#[test]
fn a_backup_that_fails_is_remembered_with_its_reason() {
    let dir = Scratch::new();
    let (data, into) = (dir.path().join("data"), dir.path().join("backups"));
    closed_store(&data);
    let part = part(&data);
    let whole = std::fs::read(&part).unwrap();
    let mut bytes = whole.clone();
    let len = bytes.len();
    bytes[len / 4..].fill(0x55);
    std::fs::write(&part, bytes).unwrap();
    refused("backup", &data, &into);
    std::fs::write(&part, whole).unwrap();
    let server = Server::start(&data, &[]);
    let list = harness::api::get(&server, "backups")["backups"].clone();
    assert_eq!(list[0]["state"], "failed", "{list}");
    assert!(list[0]["error"].as_str().unwrap().contains(".part"), "{list}");
    server.stop();
}

#[test]
fn a_smaller_size_is_tried_before_it_is_set() {
    let dir = Scratch::new();
    let data = dir.path().join("data");
    closed_store(&data);
    let place = data.to_str().unwrap();
    let (is_done, said, error) =
        output(&["retention", "--data-dir", place, "--retention-size", "1GiB"]);
    assert!(is_done && error.is_empty(), "{error}");
    let expected =
        "by retention.size 1GiB 0 samples of the oldest parts go at the next start, 0 bytes";
    assert_eq!(said.lines().last(), Some(expected), "{said}");
    let (_, said, _) = output(&["retention", "--data-dir", place]);
    assert!(!said.contains("retention.size"), "{said}");
}
