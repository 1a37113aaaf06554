//! CSV files through the real binary: exports come back as they went out, answers and files of the
//! page come in as what they were, and files of strangers are read or refused with a reason.

use crate::harness::command::{run, run_on, said, succeed};
use crate::harness::{Scratch, Server, foliot};
use std::io::Write;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

/// What is in a store, as CSV.
fn exported(store: &Path) -> String {
    let dir = store.to_str().unwrap();
    let exported = succeed(&["export", "--format", "csv", "--data-dir", dir]);
    String::from_utf8(exported.stdout).unwrap()
}

/// The rows of an export, in order.
fn rows(text: &str) -> Vec<String> {
    let mut rows: Vec<String> = text.lines().map(str::to_owned).collect();
    rows.sort_unstable();
    rows
}

const LINES: &str = "\
bare v=2 -5
cpu,host=a,region=us usage=0.1 1
cpu,host=a,region=us cores=-4i 1
cpu,host=b bytes=18446744073709551615u 1767268800000000000
cpu,host=b note=\"x, \\\"y\\\"\" 1767268800000000000
cpu,host=b formula=\"=1+1\" 1767268800000000000
cpu,host=b zero=-0 1767268800000000000
cpu,host=b up=true 1767268800000000000
cpu,host=b usage=1e300 1767268800000000000
m\\ x,k\\=1=v\\ 2,value=a\\,b wind\\ speed=-0.5 1767268800123456789
";

const EXPORTED: &str = "\
time,measurement,field,host,k=1,region,label_value,kind,value
1969-12-31T23:59:59.999999995Z,bare,v,,,,,float,2
1970-01-01T00:00:00.000000001Z,cpu,cores,a,,us,,integer,-4
1970-01-01T00:00:00.000000001Z,cpu,usage,a,,us,,float,0.1
2026-01-01T12:00:00.000000000Z,cpu,bytes,b,,,,unsigned,18446744073709551615
2026-01-01T12:00:00.000000000Z,cpu,formula,b,,,,string,'=1+1
2026-01-01T12:00:00.000000000Z,cpu,note,b,,,,string,\"x, \"\"y\"\"\"
2026-01-01T12:00:00.000000000Z,cpu,up,b,,,,boolean,true
2026-01-01T12:00:00.000000000Z,cpu,usage,b,,,,float,1e300
2026-01-01T12:00:00.000000000Z,cpu,zero,b,,,,float,-0
2026-01-01T12:00:00.123456789Z,m x,wind speed,,v 2,,\"a,b\",float,-0.5
";

#[test]
fn an_export_comes_back_as_it_was() {
    let scratch = Scratch::new();
    let [dump, file, first, second, third] =
        ["lines", "file.csv", "first", "second", "third"].map(|name| scratch.path().join(name));
    std::fs::write(&dump, LINES).unwrap();
    let [dump, file_name, first_dir, second_dir, third_dir] =
        [&dump, &file, &first, &second, &third].map(|path| path.to_str().unwrap());
    succeed(&["import", "influx", dump, "--data-dir", first_dir]);
    let exported_to = ["export", "--format", "csv", "--data-dir", first_dir, file_name];
    let output = succeed(&exported_to);
    assert_eq!(said(&output), "10 samples of 10 series written\n");
    let text = std::fs::read_to_string(&file).unwrap();
    assert_eq!(rows(&text), rows(EXPORTED));
    assert_eq!(text.lines().next(), EXPORTED.lines().next());
    assert!(said(&run(&exported_to)).contains("name another file, or remove it first"));
    let dry = succeed(&["import", "csv", file_name, "--dry-run", "--data-dir", second_dir]);
    assert!(said(&dry).contains("10 rows found, 0 refused"), "{}", said(&dry));
    assert!(!second.exists(), "nothing is written");
    let imported = succeed(&["import", "csv", file_name, "--data-dir", second_dir]);
    assert!(said(&imported).contains("10 rows stored, 0 refused"), "{}", said(&imported));
    assert_eq!(rows(&exported(&second)), rows(&text));
    // Zipped, through a pipe, with some of it left out, into another database.
    let mut zipped = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    zipped.write_all(text.as_bytes()).unwrap();
    let words = ["import", "csv", "-", "--db", "d", "--without", "host", "--data-dir", third_dir];
    let imported = run_on(&words, &zipped.finish().unwrap());
    assert!(imported.status.success(), "{}", said(&imported));
    let words = ["export", "--format", "csv", "--db", "d", "--end", "1970-01-02", "--data-dir"];
    let output = succeed(&[&words[..], &[third_dir]].concat());
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(
        text.lines().next(),
        Some("time,measurement,field,k=1,region,label_value,kind,value")
    );
    assert_eq!(text.lines().count(), 4, "{text}");
}

/// Values that lines of Influx do not hold, of one field in several kinds, as put lines bring them.
#[test]
fn samples_of_a_server_come_back_through_another_one() {
    let scratch = Scratch::new();
    let source = Server::start(&scratch.path().join("source"), &[]);
    let import = "/api/foliot/v1/import?format=exact&db=d";
    let lines = "m,host=by\\sthe\\nwall,kind=x v=NaN 1\nm v=Infinity 2\nm v=-Infinity 3\nm v=7u 4\n\
                 m v=-0 5\nm v=9007199254740993i 6\nm t=\"a\\z\\r\" 7\nm t=\"\" 8\nm t=\" x \" 9\n\
                 \\hm,a=b value=1 10\nm t=\"'=1\" 11\n";
    let answer = source.post(import, lines);
    assert!(answer.text().contains("\"refused\":0"), "{}", answer.text());
    source.stop();
    let dir = scratch.path().join("source");
    let words = ["export", "--format", "csv", "--db", "d", "--data-dir", dir.to_str().unwrap()];
    let before = succeed(&words).stdout;
    let file = scratch.path().join("samples.csv");
    std::fs::write(&file, &before).unwrap();
    let target = Server::start(&scratch.path().join("target"), &[]);
    let url = format!("http://{}", target.address);
    let words = ["import", "csv", file.to_str().unwrap(), "--url", &url, "--db", "d"];
    for flags in [&["--dry-run"][..], &[], &["--rp", "weekly"]] {
        let imported = succeed(&[&words[..], flags].concat());
        let expected = if flags == ["--dry-run"] { "found" } else { "stored" };
        let expected = format!("11 rows {expected}, 0 refused");
        assert!(said(&imported).contains(&expected), "{}", said(&imported));
    }
    // What the server refuses is told by the line of the file.
    let text = "time,measurement,field,kind,value\n2026-01-01T00:00:00Z,m,v,float,1\n\
                2026-01-01T00:00:00Z,m,v,string,x\n2026-01-01T00:00:00Z,m,v,float,2\n";
    let refused = run_on(&["import", "csv", "-", "--url", &url, "--db", "d"], text.as_bytes());
    assert_eq!(refused.status.code(), Some(1), "{}", said(&refused));
    assert!(said(&refused).contains("standard input:3: v: "), "{}", said(&refused));
    assert!(said(&refused).contains("2 rows stored, 1 refused"), "{}", said(&refused));
    target.stop();
    let dir = scratch.path().join("target");
    for policy in [&[][..], &["--rp", "weekly"]] {
        let words = ["export", "--format", "csv", "--db", "d", "--end", "1970-01-02", "--data-dir"];
        let after = succeed(&[&words[..], &[dir.to_str().unwrap()], policy].concat()).stdout;
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        assert_eq!(rows(&text(&after)), rows(&text(&before)));
    }
}

#[test]
fn answers_come_in_as_what_was_asked() {
    let scratch = Scratch::new();
    let server = Server::start(&scratch.path().join("served"), &[]);
    let text = "cpu,host=a usage=0.5,cores=4 1000000001\ncpu,host=b usage=1,cores=2 2000000000\n";
    assert_eq!(server.post("/write?db=default", text).status, 204);
    let url = format!("http://{}", server.address);
    let store = scratch.path().join("store");
    let bring = |words: &[&str], flags: &[&str]| {
        let asked = ["query", "--url", &url, "--format", "csv"];
        let answer = succeed(&[&asked[..], words].concat()).stdout;
        let import = ["import", "csv", "-", "--data-dir", store.to_str().unwrap()];
        run_on(&[&import[..], flags].concat(), &answer)
    };
    let imported = bring(&["SELECT usage, cores FROM cpu GROUP BY host"], &[]);
    assert!(said(&imported).contains("2 rows stored, 0 refused"), "{}", said(&imported));
    let imported = bring(&["m=none:cpu.cores{host=*}", "--start", "1"], &[]);
    assert!(said(&imported).contains("2 rows stored, 0 refused"), "{}", said(&imported));
    let statement = ["--language", "sql", "SELECT time, host, usage * 2 AS twice FROM cpu"];
    let imported = bring(&statement, &["--measurement", "sql"]);
    assert!(said(&imported).contains("2 rows stored, 0 refused"), "{}", said(&imported));
    let expected = "\
time,measurement,field,host,kind,value
1970-01-01T00:00:01.000000000Z,cpu.cores,value,a,float,4
1970-01-01T00:00:01.000000001Z,cpu,cores,a,float,4
1970-01-01T00:00:01.000000001Z,cpu,usage,a,float,0.5
1970-01-01T00:00:01.000000001Z,sql,twice,a,float,1
1970-01-01T00:00:02.000000000Z,cpu,cores,b,float,2
1970-01-01T00:00:02.000000000Z,cpu,usage,b,float,1
1970-01-01T00:00:02.000000000Z,cpu.cores,value,b,float,2
1970-01-01T00:00:02.000000000Z,sql,twice,b,float,2
";
    assert_eq!(rows(&exported(&store)), rows(expected));
    server.stop();
}

#[test]
fn a_file_of_a_stranger_becomes_labels_and_fields() {
    let scratch = Scratch::new();
    let store = scratch.path().join("store");
    let file = scratch.path().join("weather.csv");
    let text = "at;site;room;temp;ok;note\r\n1767225600000;hill;101;1.5;true;\"a;\nb\"\r\n\
                1767225660000;lake;102;n/a;false;c\r\n1767225720000;lake;103;-2.25;false;\r\n";
    std::fs::write(&file, text).unwrap();
    let words = ["import", "csv", file.to_str().unwrap(), "--data-dir", store.to_str().unwrap()];
    let flags =
        ["--separator", ";", "--measurement", "weather", "--label", "room", "--text", "note"];
    let imported = run(&[&words[..], &flags].concat());
    let name = file.display();
    let expected = format!(
        "foliot: note: numbers in the column at are taken for milliseconds by their size; \
         --precision says what they count\n\
         foliot: note: there was no store in {}: a new one was made; --url goes through a running \
         server instead\n\
         {name}:4: temp: \"n/a\" is no number, as the first rows have them; --label temp or --text \
         temp takes the column as texts\n\
         0.0 MiB of 0.0 read, 2 rows stored, 1 refused in ",
        store.display()
    );
    assert!(said(&imported).starts_with(&expected), "{}", said(&imported));
    assert_eq!(imported.status.code(), Some(1));
    let expected = "\
time,measurement,field,room,site,kind,value
2026-01-01T00:00:00.000000000Z,weather,note,101,hill,string,\"a;
b\"
2026-01-01T00:00:00.000000000Z,weather,ok,101,hill,boolean,true
2026-01-01T00:00:00.000000000Z,weather,temp,101,hill,float,1.5
2026-01-01T00:02:00.000000000Z,weather,ok,103,lake,boolean,false
2026-01-01T00:02:00.000000000Z,weather,temp,103,lake,float,-2.25
";
    assert_eq!(rows(&exported(&store)), rows(expected));
}

/// A text, flags, the code and what is said.
type Refusal<'a> = (&'a str, &'a [&'a str], i32, &'a str);

const M: &[&str] = &["--measurement", "m"];

/// What the command line says of a file and is not so is a mistake of the command line.
const REFUSALS: &[Refusal<'_>] = &[
    ("", M, 1, "standard input: it is empty: there is no header in it\n"),
    (
        "time;v\n1;2\n",
        M,
        2,
        "standard input: its header has one column: if ';' divides cells, say so with \
             --separator ';'\n",
    ),
    (
        "time,v\n2026-01-01,1\n",
        &[],
        2,
        "standard input: no column is called measurement: give it with --measurement NAME\n",
    ),
    (
        "a,v\nx,1\n",
        M,
        2,
        "standard input: no column holds times, as 2026-01-31T10:00:00Z or seconds since 1970: \
             name it with --time COLUMN; the columns are a, v\n",
    ),
    // One time is enough to tell what the column holds.
    (
        "time,v\n2026-01-01,1\nyesterday,2\n",
        &["--measurement", "m", "--dry-run"],
        1,
        "standard input:3: time: \"yesterday\" is no time: write it as 2026-01-31T10:00:00Z",
    ),
    (
        "2026-01-01,kitchen,21.5\n2026-01-02,kitchen,21.5\n",
        M,
        1,
        "standard input: line 1 is no header, since \"2026-01-01\" is no name of a column: put \
             a line with the names of the columns before it\n",
    ),
    (
        "time,v,v\n2026-01-01,1,2\n",
        M,
        1,
        "standard input: two columns are called \"v\": give one of them another name in the \
             header\n",
    ),
    (
        "\0t\0i\0m\0e",
        M,
        1,
        "standard input: it is UTF-16: convert it, as by `iconv -f UTF-16 -t UTF-8 FILE`, and \
             bring in what that writes\n",
    ),
    (
        "time,v\n2026-01-01,1\n",
        &["--measurement", "m", "--without", "w"],
        2,
        "standard input: --without w: the columns are time, v\n",
    ),
    ("time,v\n2026-01-01,1\n", &["--separator", ";;"], 2, "give one sign, such as ';', or tab"),
    ("time,v\n2026-01-01,1\n", &["--precision", "min"], 2, "s, ms, us, ns"),
];

#[test]
fn what_cannot_be_read_is_refused_with_a_reason() {
    let scratch = Scratch::new();
    let dir = scratch.path().join("store");
    let dir = dir.to_str().unwrap();
    for (text, flags, code, expected) in REFUSALS {
        let words = [&["import", "csv", "-", "--data-dir", dir][..], flags].concat();
        let refused = run_on(&words, text.as_bytes());
        assert_eq!(refused.status.code(), Some(*code), "{text:?} {flags:?}: {}", said(&refused));
        assert!(said(&refused).contains(expected), "{text:?} {flags:?}: {}", said(&refused));
    }
    assert!(!Path::new(dir).exists(), "no store is made for a file that cannot be read");
    let missing = run(&["import", "csv", "/nowhere/x.csv", "--data-dir", dir]);
    assert!(said(&missing).contains("cannot open /nowhere/x.csv"), "{}", said(&missing));
}

#[test]
fn what_a_file_may_take_is_a_setting() {
    let scratch = Scratch::new();
    let store = scratch.path().join("store");
    let dir = store.to_str().unwrap();
    let words = ["import", "csv", "-", "--measurement", "m", "--data-dir", dir];
    let text = format!("time,host,v\n2026-01-01,{},1\n2026-01-01,a,1\n", "x".repeat(5_000));
    let refused =
        run_on(&[&words[..], &["--set", "limits.csv_row_bytes=4KiB"]].concat(), text.as_bytes());
    assert_eq!(refused.status.code(), Some(1), "{}", said(&refused));
    let expected = "standard input:2: is a row of more than 4096 bytes (limits.csv_row_bytes)";
    assert!(said(&refused).contains(expected), "{}", said(&refused));
    assert!(said(&refused).contains("1 rows stored, 1 refused"), "{}", said(&refused));
    let words = ["export", "--format", "csv", "--data-dir", dir];
    let refused = run(&[&words[..], &["--set", "limits.parquet_labels=0"]].concat());
    assert_eq!(refused.status.code(), Some(1), "{}", said(&refused));
    let expected = "more than 0 names of labels (limits.parquet_labels)";
    assert!(said(&refused).contains(expected), "{}", said(&refused));
}

/// The most memory that a command had.
fn peak_bytes(words: &[&str]) -> (u64, String) {
    let mut command = foliot();
    command.args(words).stdin(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let status = format!("/proc/{}/status", child.id());
    let mut peak = 0;
    while child.try_wait().unwrap().is_none() {
        let text = std::fs::read_to_string(&status).unwrap_or_default();
        let found = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kib = found.and_then(|text| text.trim().trim_end_matches(" kB").parse::<u64>().ok());
        peak = peak.max(kib.unwrap_or(0) << 10);
        std::thread::sleep(Duration::from_millis(1));
    }
    (peak, said(&child.wait_with_output().unwrap()))
}

/// Rows go through one after the other, however many there are.
#[test]
fn many_rows_take_little_memory() {
    const ROWS: u64 = 300_000;
    let scratch = Scratch::new();
    let file = scratch.path().join("rows.csv");
    let mut text = "time,host,region,note,a,b,c\n".to_owned();
    for row in 0..ROWS {
        let at = 1_767_225_600 + row;
        let note = "n".repeat(150);
        text += &format!("{at},host-{},eu,\"{note}\",{row}.5,-{row},1e-{}\n", row % 10, row % 30);
    }
    std::fs::write(&file, &text).unwrap();
    let [file, first, second] = ["rows.csv", "first", "second"]
        .map(|name| scratch.path().join(name).to_str().unwrap().to_owned());
    let words = ["import", "csv", &file, "--measurement", "m", "--text", "note", "--data-dir"];
    let (peak, said) = peak_bytes(&[&words[..], &[&first, "--dry-run"]].concat());
    assert!(said.contains("300000 rows found, 0 refused"), "{said}");
    assert!(text.len() > 50 << 20 && peak > 0, "{} bytes, {peak}", text.len());
    assert!(peak < 48 << 20, "{peak} bytes for a file of {} bytes", text.len());
    succeed(&[&words[..], &[&first]].concat());
    let all = exported(Path::new(&first));
    assert_eq!(all.lines().count() as u64, ROWS * 4 + 1);
    let again = Path::new(&second).with_extension("csv");
    std::fs::write(&again, &all).unwrap();
    succeed(&["import", "csv", again.to_str().unwrap(), "--data-dir", &second]);
    assert!(exported(Path::new(&second)) == all, "they differ");
}

/// Whatever byte of a file is another, the command ends in order: it stores, or says what is wrong.
#[test]
fn a_damaged_file_ends_no_command_by_a_signal() {
    let scratch = Scratch::new();
    let dir = scratch.path().join("store");
    let words = ["import", "csv", "-", "--dry-run", "--data-dir", dir.to_str().unwrap()];
    for at in (0..EXPORTED.len()).step_by(23) {
        for byte in [b'"', 0, b'\r', 0xff] {
            let mut damaged = EXPORTED.as_bytes().to_vec();
            damaged[at] = byte;
            let output = run_on(&words, &damaged);
            assert!(matches!(output.status.code(), Some(0..=2)), "byte {at}: {}", said(&output));
            assert!(!said(&output).contains("panicked"), "byte {at}: {}", said(&output));
        }
    }
}
