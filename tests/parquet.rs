//! Parquet through the real binary: exports come back as they went out, answers are files, and
//! files of strangers are read or refused with a reason.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "what fails here is a failing test"
)]

mod harness;

use harness::{Scratch, Server, foliot};
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};

/// Runs `foliot` with the given words.
fn run(words: &[&str]) -> Output {
    foliot().args(words).stdin(Stdio::null()).output().unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn succeed(words: &[&str]) -> Output {
    let output = run(words);
    assert!(output.status.success(), "{words:?}: {}", said(&output));
    output
}

/// The lines of what is in a store, sorted, without the head of the dump.
fn lines(store: &Path) -> Vec<String> {
    let exported = succeed(&["export", "--format", "line", "--data-dir", store.to_str().unwrap()]);
    let text = String::from_utf8(exported.stdout).unwrap();
    let mut lines: Vec<String> =
        text.lines().filter(|line| !line.starts_with(['#', 'C'])).map(str::to_owned).collect();
    lines.sort_unstable();
    lines
}

const LINES: &str = "\
bare v=2 -5
cpu,host=a,region=us usage=0.1 1
cpu,host=a,region=us cores=-4i 1
cpu,host=b bytes=18446744073709551615u 1767268800000000000
cpu,host=b note=\"x, \\\"y\\\"\" 1767268800000000000
cpu,host=b up=true 1767268800000000000
cpu,host=b usage=1e+300 1767268800000000000
m\\ x,k\\=1=v\\ 2,site=a\\,b wind\\ speed=-0.5 1767268800123456789
";

fn write(path: &Path, text: &str) -> String {
    std::fs::write(path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn an_export_comes_back_as_it_was() {
    let scratch = Scratch::new();
    let [dump, file, first, second] =
        ["lines", "file.parquet", "first", "second"].map(|name| scratch.path().join(name));
    write(&dump, LINES);
    let [dump, file_name, first_dir, second_dir] =
        [&dump, &file, &first, &second].map(|path| path.to_str().unwrap());
    succeed(&["import", "influx", dump, "--data-dir", first_dir]);
    let exported = succeed(&["export", "--format", "parquet", "--data-dir", first_dir, file_name]);
    assert!(said(&exported).contains("8 samples of 8 series written"), "{}", said(&exported));
    let bytes = std::fs::read(&file).unwrap();
    assert!(bytes.starts_with(b"PAR1") && bytes.ends_with(b"PAR1"));
    let dry = succeed(&["import", "parquet", file_name, "--dry-run", "--data-dir", second_dir]);
    assert!(said(&dry).contains("8 rows found, 0 refused"), "{}", said(&dry));
    assert!(!second.exists(), "nothing is written");
    let imported = succeed(&["import", "parquet", file_name, "--data-dir", second_dir]);
    assert!(said(&imported).contains("8 rows stored, 0 refused"), "{}", said(&imported));
    let there = lines(&second);
    assert_eq!(there.len(), 8, "{there:?}");
    assert_eq!(there, lines(&first));
}

#[test]
fn groups_of_rows_follow_each_other() {
    let scratch = Scratch::new();
    // More than a group has, of two series.
    let text: String =
        (0..140_000).map(|row| format!("m,h={} v={row}i {}\n", row % 2, 1_000 + row)).collect();
    let dump = write(&scratch.path().join("lines"), &text);
    let [file, first, second] = ["f.parquet", "first", "second"]
        .map(|name| scratch.path().join(name).to_str().unwrap().to_owned());
    succeed(&["import", "influx", &dump, "--data-dir", &first]);
    succeed(&["export", "--format", "parquet", "--data-dir", &first, &file]);
    let imported = succeed(&["import", "parquet", &file, "--data-dir", &second]);
    assert!(said(&imported).contains("140000 rows stored, 0 refused"), "{}", said(&imported));
    assert_eq!(lines(Path::new(&second)), lines(Path::new(&first)));
}

/// A file that PyArrow wrote, by `tests/foreign/parquet.py`: gzip, snappy and zstd, pages of
/// version 2, dictionaries, times without a zone, a list, and a row without values.
fn weather() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/parquet/weather.parquet")
}

#[test]
fn a_file_of_pyarrow_becomes_labels_and_fields() {
    let scratch = Scratch::new();
    let store = scratch.path().join("store");
    let (file, dir) = (weather(), store.to_str().unwrap());
    let words = ["import", "parquet", file.to_str().unwrap(), "--data-dir", dir];
    let flags = ["--measurement", "weather", "--text", "note", "--without", "spare.list.element"];
    let imported = run(&[&words[..], &flags].concat());
    let said = said(&imported);
    assert_eq!(imported.status.code(), Some(1), "{said}");
    assert!(said.contains("5 rows stored, 1 refused"), "{said}");
    assert!(said.contains("weather.parquet:6: no field has a value"), "{said}");
    let exported = succeed(&["export", "--format", "line", "--data-dir", dir]);
    let text = String::from_utf8(exported.stdout).unwrap();
    for line in [
        "weather,site=hill temp=1.5 1767268800000000000\n",
        "weather,site=lake temp=-2.25 1767268920000000000\n",
        "weather temp=7 1767269040000000000\n",
        "weather,site=lake wind=6i 1767268980000000000\n",
        "weather,site=hill gusts=18446744073709551615u 1767268800000000000\n",
        "weather,site=hill ok=false 1767268860000000000\n",
        "weather,site=hill note=\"a \\\"b\\\"\" 1767268800000000000\n",
        "weather,site=lake note=\"c\nd\" 1767268920000000000\n",
        "weather,site=lake half=0.125 1767268920000000000\n",
    ] {
        assert!(text.contains(line), "{line} is missing in {text}");
    }
    assert!(!text.contains("NaN") && !text.contains("spare"), "{text}");
}

#[test]
fn what_cannot_be_read_is_refused_with_a_reason() {
    let scratch = Scratch::new();
    let dir = scratch.path().join("store");
    let dir = dir.to_str().unwrap();
    let weather = weather();
    let weather = weather.to_str().unwrap();
    let bytes = std::fs::read(weather).unwrap();
    let copy = |name: &str, bytes: &[u8]| {
        let path = scratch.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let short = copy("short", &bytes[..bytes.len() - 9]);
    let text = copy("text", b"cpu v=1 1\n");
    let list = ["--without", "spare.list.element"];
    for (file, flags, expected) in [
        (weather, &[][..], "column \"spare.list.element\" is a list: --without leaves it out"),
        (weather, &list, "no column is called measurement: give it with --measurement NAME"),
        (weather, &["--without", "nope"], "--without nope: the columns are at, site, temp"),
        (
            weather,
            &["--without", "spare.list.element", "--measurement", "m", "--time", "wind"],
            "column \"wind\" holds no timestamps",
        ),
        ("-", &[], "give the name of a file, not a pipe"),
        (&short, &[], "cannot be read as Parquet"),
        (&text, &[], "cannot be read as Parquet"),
        ("/nowhere/x.parquet", &[], "cannot open /nowhere/x.parquet"),
    ] {
        let refused = run(&[&["import", "parquet", file, "--data-dir", dir][..], flags].concat());
        assert_eq!(refused.status.code(), Some(1), "{file} {flags:?}: {}", said(&refused));
        assert!(said(&refused).contains(expected), "{file} {flags:?}: {}", said(&refused));
    }
}

/// Whatever byte of a file is another, the command ends in order: it stores, or says what is wrong.
#[test]
fn a_damaged_file_ends_no_command_by_a_signal() {
    let scratch = Scratch::new();
    let bytes = std::fs::read(weather()).unwrap();
    let file = scratch.path().join("damaged.parquet");
    let dir = scratch.path().join("store");
    for at in (4..bytes.len()).step_by(41) {
        let mut damaged = bytes.clone();
        damaged[at] ^= 0x5a;
        std::fs::write(&file, &damaged).unwrap();
        let words = ["import", "parquet", file.to_str().unwrap(), "--dry-run", "--data-dir"];
        let flags =
            [dir.to_str().unwrap(), "--measurement", "m", "--without", "spare.list.element"];
        let output = run(&[&words[..], &flags].concat());
        assert!(matches!(output.status.code(), Some(0 | 1)), "byte {at}: {}", said(&output));
    }
}

#[test]
fn an_answer_is_a_file_that_can_be_imported() {
    let scratch = Scratch::new();
    let server = Server::start(&scratch.path().join("served"), &[]);
    let text = "cpu,host=a usage=0.5,cores=4i,up=true,note=\"n\" 1000000001\n\
                cpu,host=b usage=1,cores=2i 2000000000\n";
    assert_eq!(server.post("/write?db=default", text).status, 204);
    let url = format!("http://{}", server.address);
    let ask = |statement: &str, flags: &[&str]| {
        let words = ["query", "--url", &url, "--format", "parquet", statement];
        run(&[&words[..], flags].concat())
    };
    let answer = ask("SELECT usage, cores, up, note FROM cpu GROUP BY host", &[]);
    assert!(answer.status.success(), "{}", said(&answer));
    let file = scratch.path().join("answer.parquet");
    std::fs::write(&file, &answer.stdout).unwrap();
    let store = scratch.path().join("store");
    let dir = store.to_str().unwrap();
    let words = ["import", "parquet", file.to_str().unwrap(), "--text", "note"];
    succeed(&[&words[..], &["--data-dir", dir]].concat());
    let expected = [
        "cpu,host=a cores=4i 1000000001",
        "cpu,host=a note=\"n\" 1000000001",
        "cpu,host=a up=true 1000000001",
        "cpu,host=a usage=0.5 1000000001",
        "cpu,host=b cores=2i 2000000000",
        "cpu,host=b usage=1 2000000000",
    ];
    assert_eq!(lines(&store), expected);
    // OpenTSDB's words: the same values, as floats, under the metric's name.
    let answer = ask("m=none:cpu.cores{host=*}", &["--start", "1"]);
    assert!(answer.status.success(), "{}", said(&answer));
    std::fs::write(&file, &answer.stdout).unwrap();
    let again = scratch.path().join("again");
    let words = ["import", "parquet", file.to_str().unwrap(), "--measurement", "m"];
    succeed(
        &[&words[..], &["--without", "metric", "--data-dir", again.to_str().unwrap()]].concat(),
    );
    // Its times are milliseconds.
    assert_eq!(lines(&again), ["m,host=a value=4 1000000000", "m,host=b value=2 2000000000"]);
    for (statement, expected) in [
        ("SELECT", "error parsing query"),
        ("SHOW FIELD KEYS; SHOW TAG KEYS", "tables of different columns"),
    ] {
        let refused = ask(statement, &[]);
        assert_eq!(refused.status.code(), Some(1), "{statement}: {}", said(&refused));
        assert!(said(&refused).contains(expected), "{statement}: {}", said(&refused));
        assert!(!said(&refused).contains(char::REPLACEMENT_CHARACTER), "{}", said(&refused));
    }
    let without = run(&["query", "--url", &url, "--format", "parquet"]);
    assert!(said(&without).contains("give the statement"), "{}", said(&without));
    server.stop();
}
