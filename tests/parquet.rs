//! Parquet through the real binary: exports come back as they went out, answers are files, and
//! files of strangers are read or refused with a reason.

use crate::harness::command::{lines, run, said, succeed};
use crate::harness::{Scratch, Server};
use std::path::{Path, PathBuf};

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
    let there = lines(&second, "default");
    assert_eq!(there.len(), 8, "{there:?}");
    assert_eq!(there, lines(&first, "default"));
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
    assert_eq!(lines(Path::new(&second), "default"), lines(Path::new(&first), "default"));
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
    // What the command line says of a file and is not so is a mistake of the command line.
    for (file, flags, code, expected) in [
        (weather, &[][..], 1, "column \"spare.list.element\" is a list: --without leaves it out"),
        (weather, &list, 2, "no column is called measurement: give it with --measurement NAME"),
        (weather, &["--without", "nope"], 2, "--without nope: the columns are at, site, temp"),
        (weather, &["--time", "nosuch"], 2, "weather.parquet: --time nosuch: the columns are at,"),
        (
            weather,
            &["--without", "spare.list.element", "--measurement", "m", "--time", "wind"],
            2,
            "column \"wind\" holds no timestamps",
        ),
        ("-", &[], 1, "give the name of a file, not a pipe"),
        (&short, &[], 1, "cannot be read as Parquet"),
        (&text, &[], 1, "cannot be read as Parquet"),
        ("/nowhere/x.parquet", &[], 1, "cannot open /nowhere/x.parquet"),
    ] {
        let refused = run(&[&["import", "parquet", file, "--data-dir", dir][..], flags].concat());
        assert_eq!(refused.status.code(), Some(code), "{file} {flags:?}: {}", said(&refused));
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
        assert!(matches!(output.status.code(), Some(0..=2)), "byte {at}: {}", said(&output));
        assert!(!said(&output).contains("panicked"), "byte {at}: {}", said(&output));
    }
}

/// Thrift's compact protocol, as `parquet.thrift` names the fields: each begins with how far its
/// number is from the one before, and its type.
mod thrift {
    pub(crate) fn varint(mut number: u64, out: &mut Vec<u8>) {
        while number >= 0x80 {
            out.push(number as u8 | 0x80);
            number >>= 7;
        }
        out.push(number as u8);
    }

    pub(crate) fn number(step: u8, kind: u8, number: u64, out: &mut Vec<u8>) {
        out.push(step << 4 | kind);
        varint(number << 1, out);
    }

    pub(crate) fn text(step: u8, text: &str, out: &mut Vec<u8>) {
        out.extend([step << 4 | 8, text.len() as u8]);
        out.extend(text.as_bytes());
    }
}

/// A file of a footer alone, whose columns lie in so many groups within groups.
fn nested(depth: usize) -> Vec<u8> {
    let mut footer = Vec::new();
    thrift::number(1, 5, 1, &mut footer);
    footer.extend([0x19, 0xfc]);
    thrift::varint(depth as u64 + 1, &mut footer);
    for group in 0..depth {
        // The root has no repetition.
        let name = if group == 0 { 4 } else { 1 };
        if group > 0 {
            thrift::number(3, 5, 0, &mut footer);
        }
        thrift::text(name, "g", &mut footer);
        thrift::number(1, 5, 1, &mut footer);
        footer.push(0);
    }
    thrift::number(1, 5, 5, &mut footer);
    thrift::number(2, 5, 0, &mut footer);
    thrift::text(1, "v", &mut footer);
    footer.push(0);
    thrift::number(1, 6, 0, &mut footer);
    footer.extend([0x19, 0x0c, 0]);
    file_of(b"", &footer)
}

fn file_of(pages: &[u8], footer: &[u8]) -> Vec<u8> {
    let length = (footer.len() as u32).to_le_bytes();
    [b"PAR1", pages, footer, &length, b"PAR1"].concat()
}

/// A file of one column of times, with the one page that is given.
fn of_page(codec: u64, page: &[u8]) -> Vec<u8> {
    let mut footer = Vec::new();
    thrift::number(1, 5, 1, &mut footer);
    footer.extend([0x19, 0x3c]);
    thrift::text(4, "m", &mut footer);
    thrift::number(1, 5, 2, &mut footer);
    footer.push(0);
    for (name, physical, legacy) in [("time", 2, Some(9)), ("v", 5, None)] {
        thrift::number(1, 5, physical, &mut footer);
        thrift::number(2, 5, 0, &mut footer);
        thrift::text(1, name, &mut footer);
        if let Some(legacy) = legacy {
            thrift::number(2, 5, legacy, &mut footer);
        }
        footer.push(0);
    }
    thrift::number(1, 6, 1, &mut footer);
    footer.extend([0x19, 0x1c, 0x19, 0x2c]);
    for (name, physical) in [("time", 2), ("v", 5)] {
        thrift::number(2, 6, 4, &mut footer);
        footer.push(0x1c);
        thrift::number(1, 5, physical, &mut footer);
        footer.extend([0x19, 0x15, 0]);
        footer.extend([0x19, 0x18, name.len() as u8]);
        footer.extend(name.as_bytes());
        thrift::number(1, 5, codec, &mut footer);
        thrift::number(1, 6, 1, &mut footer);
        thrift::number(1, 6, page.len() as u64, &mut footer);
        thrift::number(1, 6, page.len() as u64, &mut footer);
        thrift::number(2, 6, 4, &mut footer);
        footer.extend([0, 0]);
    }
    thrift::number(1, 6, page.len() as u64, &mut footer);
    thrift::number(1, 6, 1, &mut footer);
    footer.extend([0, 0]);
    file_of(page, &footer)
}

/// A page of plain values, with the size that its head says it has when it is unpacked.
fn page(values: u64, bytes_said: u64, packed: &[u8]) -> Vec<u8> {
    let mut page = Vec::new();
    thrift::number(1, 5, 0, &mut page);
    thrift::number(1, 5, bytes_said, &mut page);
    thrift::number(1, 5, packed.len() as u64, &mut page);
    page.push(0x2c);
    thrift::number(1, 5, values, &mut page);
    thrift::number(1, 5, 0, &mut page);
    thrift::number(1, 5, 3, &mut page);
    thrift::number(1, 5, 3, &mut page);
    page.extend([0, 0]);
    page.extend(packed);
    page
}

/// A small file must not end the command, nor make it take what the machine has.
#[test]
fn a_file_takes_no_more_than_it_may() {
    let scratch = Scratch::new();
    let path = scratch.path().join("file.parquet");
    let store = scratch.path().join("store");
    let bring = |bytes: &[u8]| {
        std::fs::write(&path, bytes).unwrap();
        let words = ["import", "parquet", path.to_str().unwrap(), "--measurement", "m"];
        let output = run(&[&words[..], &["--data-dir", store.to_str().unwrap()]].concat());
        (output.status.code(), said(&output))
    };
    // The helpers make files that are read when nothing is wrong with them.
    let eight = 1_767_268_800_000_u64.to_le_bytes();
    let (code, said) = bring(&of_page(0, &page(1, 8, &eight)));
    assert!(code == Some(0) && said.contains("1 rows stored, 0 refused"), "{said}");
    let packed = snap::raw::Encoder::new().compress_vec(&eight).unwrap();
    let (code, said) = bring(&of_page(1, &page(1, 8, &packed)));
    assert!(code == Some(0) && said.contains("1 rows stored, 0 refused"), "{said}");
    let gzip = |bytes: &[u8]| {
        use flate2::{Compression, write::GzEncoder};
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        std::io::Write::write_all(&mut encoder, bytes).unwrap();
        encoder.finish().unwrap()
    };
    let bomb = gzip(&vec![0; 64 << 20]);
    let most = u64::from(u32::MAX >> 1);
    for (bytes, expected) in [
        (nested(20_000), "groups of columns lie more than 64 deep in each other"),
        (nested(2), "no column holds timestamps"),
        (of_page(0, &page(1, most, &eight)), "up to 536870912 may be (limits.parquet_pages_bytes)"),
        (of_page(1, &page(1, most, &packed)), "column \"time\": its pages have 21474836"),
        (of_page(6, &page(1, most, &eight)), "up to 536870912 may be (limits.parquet_pages_bytes)"),
        (of_page(2, &page(1, 8, &bomb)), "a page has another length than its head says"),
        (of_page(1, &page(1, 9, &packed)), "a page has another length than its head says"),
        (of_page(4, &page(1, 8, &eight)), "it is packed with brotli"),
    ] {
        let (code, said) = bring(&bytes);
        assert_eq!(code, Some(1), "{expected}: {said}");
        assert!(said.contains(expected), "{expected}: {said}");
    }
}

#[test]
fn what_a_file_may_take_is_a_setting() {
    let scratch = Scratch::new();
    let (file, store) = (weather(), scratch.path().join("store"));
    let (file, dir) = (file.to_str().unwrap(), store.to_str().unwrap());
    let import = ["import", "parquet", file, "--measurement", "m", "--data-dir", dir];
    let without = ["--without", "spare.list.element"];
    let export = ["export", "--format", "parquet", "--data-dir", dir];
    assert_eq!(run(&[&import[..], &without].concat()).status.code(), Some(1), "a row has no value");
    for (words, setting, expected) in [
        (&import[..], "limits.parquet_footer_bytes=100B", "bytes, up to 100 may be (limits.p"),
        (
            &import[..],
            "limits.parquet_pages_bytes=9B",
            "bytes where they are read together, up to 9",
        ),
        (
            &export[..],
            "limits.parquet_labels=0",
            "more than 0 names of labels (limits.parquet_labels)",
        ),
    ] {
        let without = if words.contains(&"import") { &without[..] } else { &[] };
        let refused = run(&[words, without, &["--set", setting]].concat());
        assert_eq!(refused.status.code(), Some(1), "{setting}: {}", said(&refused));
        assert!(said(&refused).contains(expected), "{setting}: {}", said(&refused));
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
    // Labels have a group of their own there, so that the text beside it is a field.
    let words = ["import", "parquet", file.to_str().unwrap()];
    succeed(&[&words[..], &["--data-dir", dir]].concat());
    let expected = [
        "cpu,host=a cores=4i 1000000001",
        "cpu,host=a note=\"n\" 1000000001",
        "cpu,host=a up=true 1000000001",
        "cpu,host=a usage=0.5 1000000001",
        "cpu,host=b cores=2i 2000000000",
        "cpu,host=b usage=1 2000000000",
    ];
    assert_eq!(lines(&store, "default"), expected);
    // OpenTSDB's words: the same values, as floats, under the metric's name.
    let answer = ask("m=none:cpu.cores{host=*}", &["--start", "1"]);
    assert!(answer.status.success(), "{}", said(&answer));
    std::fs::write(&file, &answer.stdout).unwrap();
    let again = scratch.path().join("again");
    succeed(&["import", "parquet", file.to_str().unwrap(), "--data-dir", again.to_str().unwrap()]);
    // Its times are milliseconds.
    let expected = ["cpu.cores,host=a value=4 1000000000", "cpu.cores,host=b value=2 2000000000"];
    assert_eq!(lines(&again, "default"), expected);
    for (statement, expected) in [
        ("SELECT", "error parsing query"),
        ("SHOW FIELD KEYS; SHOW TAG KEYS", "these are several statements"),
        ("SELECT usage FROM cpu; SELECT usage FROM cpu", "a file has the rows of one"),
        ("SELECT x FROM nowhere; SELECT usage FROM cpu", "a file has the rows of one"),
        ("SELECT usage FROM cpu, nowhere; SELECT 1", "error parsing query"),
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
