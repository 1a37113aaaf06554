use super::*;

fn varint(mut value: u64) -> Vec<u8> {
    let mut out = Vec::new();
    while value >= 128 {
        out.push((value % 128 + 128) as u8);
        value /= 128;
    }
    [out, vec![value as u8]].concat()
}

fn number(field: u64, value: u64) -> Vec<u8> {
    [varint(field * 8), varint(value)].concat()
}

fn bytes(field: u64, held: &[u8]) -> Vec<u8> {
    [varint(field * 8 + 2), varint(held.len() as u64), held.to_vec()].concat()
}

fn metric(parts: &[Vec<u8>]) -> Vec<u8> {
    bytes(2, &parts.concat())
}

fn named(name: &str, alias: u64, kind: u64, value: u64) -> Vec<u8> {
    metric(&[bytes(1, name.as_bytes()), number(2, alias), number(4, kind), number(10, value)])
}

fn numbered(alias: u64, value: u64) -> Vec<u8> {
    metric(&[number(2, alias), number(10, value)])
}

const SENT_MS: u64 = 1_700_000_000_000;

/// What a message comes to: lines, and how often something needs a birth.
fn take(births: &mut Births, topic: &str, payload: &[Vec<u8>]) -> (String, usize) {
    let topic = Topic::read(topic).unwrap().unwrap();
    let payload = payload.concat();
    let payload = SparkplugPayload::parse(&payload).unwrap();
    births.learn(&topic, &payload);
    let (mut lines, mut unborn) = (Vec::new(), 0);
    let birth = births.of(&topic);
    for metric in payload.metrics() {
        let told = push_line(&topic, birth, &metric, SENT_MS, &mut lines);
        unborn += usize::from(matches!(told, Err(Refused::Unborn(_))));
    }
    (String::from_utf8(lines).unwrap(), unborn)
}

#[test]
fn topics_say_who_and_what() {
    let cases = [
        ("spBv1.0/g/NBIRTH/n", "g", "n", "", News::Birth),
        ("spBv1.0/g/DBIRTH/n/d", "g", "n", "d", News::Birth),
        ("spBv1.0/g g/NDATA/n", "g g", "n", "", News::Data),
        ("spBv1.0/g/DDATA/n/d", "g", "n", "d", News::Data),
        ("spBv1.0/g/NDEATH/n", "g", "n", "", News::Death),
        ("spBv1.0/g/DDEATH/n/d", "g", "n", "d", News::Death),
        ("spBv1.0/g/NCMD/n", "g", "n", "", News::Other),
        ("spBv1.0/g/DCMD/n/d", "g", "n", "d", News::Other),
        ("spBv1.0/STATE/host", "STATE", "host", "", News::Other),
    ];
    for (topic, group, node, device, news) in cases {
        assert_eq!(Topic::read(topic), Some(Ok(Topic { group, node, device, news })), "{topic}");
    }
    for other in ["spBv1.0", "spAv1.0/g/NDATA/n", "x/spBv1.0/g/NDATA/n", "spBv1.00/g", ""] {
        assert_eq!(Topic::read(other), None, "{other}");
    }
    let long = format!("spBv1.0/g/NDATA/{}", "n".repeat(512));
    for wrong in [
        "spBv1.0/",
        "spBv1.0/g/NDATA",
        "spBv1.0/g/NDATA/",
        "spBv1.0/g/NDATA/n/d",
        "spBv1.0/g/DDATA/n",
        "spBv1.0/g/DDATA/n/",
        "spBv1.0/g/DDATA/n/d/e",
        "spBv1.0//NDATA/n",
        "spBv1.0/g/XDATA/n",
        "spBv1.0/g/éDATA/n",
        "spBv1.0/g/NDATUM/n",
        "spBv1.0/g/NDATA/n\\",
        "spBv1.0/g/NDATA/n\n",
        &long,
    ] {
        assert!(matches!(Topic::read(wrong), Some(Err(_))), "{wrong}");
    }
}

#[test]
fn births_name_what_data_numbers() {
    let mut births = Births::new(1 << 20);
    let birth = [
        number(1, SENT_MS),
        named("bdSeq", 0, 4, 3),
        named("Node Control/Rebirth", 0, 3, 0),
        named("Line 1/Speed, mean", 1, 1, 200),
        metric(&[bytes(1, b"idle"), number(2, 2), number(4, 3), number(7, 1)]),
        metric(&[bytes(1, b"now"), number(4, 3), number(6, 1), number(10, 1)]),
    ];
    let (lines, unborn) = take(&mut births, "spBv1.0/g/NBIRTH/n", &birth);
    let begin = "sparkplug,group=g,node=n Line\\ 1/Speed\\,\\ mean";
    assert_eq!(lines, format!("{begin}=-56i 1700000000000000000\n"));
    assert_eq!(unborn, 0);
    let device = [named("Speed", 1, 5, 200)];
    let (lines, _) = take(&mut births, "spBv1.0/g/DBIRTH/n/press 1", &device);
    let of_device = "sparkplug,device=press\\ 1,group=g,node=n Speed";
    assert_eq!(lines, format!("{of_device}=200i 1700000000000000000\n"));
    // A number means what the birth of the same node or device said.
    let data = [numbered(1, 255), metric(&[number(2, 2), number(3, SENT_MS + 5), number(10, 7)])];
    let (lines, unborn) = take(&mut births, "spBv1.0/g/NDATA/n", &data);
    assert_eq!(
        lines,
        format!(
            "{begin}=-1i 1700000000000000000\n\
             sparkplug,group=g,node=n idle=7i 1700000000005000000\n"
        )
    );
    assert_eq!(unborn, 0);
    let (lines, unborn) = take(&mut births, "spBv1.0/g/DDATA/n/press 1", &data);
    assert_eq!((&*lines, unborn), (&*format!("{of_device}=255i 1700000000000000000\n"), 1));
    for stranger in ["spBv1.0/g/NDATA/m", "spBv1.0/h/NDATA/n", "spBv1.0/g/DDATA/n/press 2"] {
        assert_eq!(take(&mut births, stranger, &data), (String::new(), 2), "{stranger}");
    }
    // The death of another life is none of this one.
    let of_life = |life| [named("bdSeq", 0, 4, life)];
    take(&mut births, "spBv1.0/g/NDEATH/n", &of_life(2));
    assert_eq!(take(&mut births, "spBv1.0/g/NDATA/n", &data).1, 0);
    take(&mut births, "spBv1.0/g/DDEATH/n/press 1", &[]);
    assert_eq!(take(&mut births, "spBv1.0/g/DDATA/n/press 1", &data).1, 2);
    take(&mut births, "spBv1.0/g/NDEATH/n", &of_life(3));
    assert_eq!(take(&mut births, "spBv1.0/g/NDATA/n", &data).1, 2);
    assert_eq!(births.bytes, 0);
}

#[test]
fn a_node_that_is_born_anew_has_no_devices_yet() {
    let mut births = Births::new(1 << 20);
    take(&mut births, "spBv1.0/g/NBIRTH/n", &[named("a", 1, 3, 1)]);
    take(&mut births, "spBv1.0/g/DBIRTH/n/d", &[named("b", 2, 3, 1)]);
    take(&mut births, "spBv1.0/g/NBIRTH/n", &[named("c", 1, 3, 1)]);
    let told = take(&mut births, "spBv1.0/g/NDATA/n", &[numbered(1, 5)]);
    assert_eq!(told, ("sparkplug,group=g,node=n c=5i 1700000000000000000\n".to_owned(), 0));
    assert_eq!(take(&mut births, "spBv1.0/g/DDATA/n/d", &[numbered(2, 5)]).1, 1);
    births.clear();
    assert_eq!(take(&mut births, "spBv1.0/g/NDATA/n", &[numbered(1, 5)]).1, 1);
}

#[test]
fn what_is_no_sample_is_refused_by_its_name() {
    let mut births = Births::new(1 << 20);
    let topic = Topic::read("spBv1.0/g/NDATA/n").unwrap().unwrap();
    let refusal = |births: &mut Births, parts: &[Vec<u8>]| {
        let payload = metric(parts);
        let payload = SparkplugPayload::parse(&payload).unwrap();
        let (metric, mut lines) = (payload.metrics().next().unwrap(), Vec::new());
        let told = push_line(&topic, births.of(&topic), &metric, SENT_MS, &mut lines);
        assert_eq!(lines, b"");
        told.unwrap_err().told()
    };
    let nan = [&[13 << 3 | 1][..], &f64::NAN.to_le_bytes()].concat();
    let long = "x".repeat(513);
    let cases = [
        (vec![bytes(1, b"m"), number(4, 16), bytes(17, b"")], "value", "'m': a DataSet is not"),
        (vec![bytes(1, b"m"), number(4, 10), nan], "value", "'m': a number that is none"),
        (vec![bytes(1, b"m"), number(10, 1)], "metric", "of what type 'm' is"),
        (vec![bytes(1, b"m\\"), number(4, 3), number(10, 1)], "metric", "backslash"),
        (vec![bytes(1, long.as_bytes()), number(4, 3), number(10, 1)], "metric", "512 bytes"),
        (vec![number(10, 1)], "metric", "neither name nor alias"),
        (vec![number(2, 9), number(10, 1)], "metric", "what metric 9 is"),
        (vec![bytes(1, b"m"), number(3, 12_000), number(14, 1)], "timestamp", "12000 ms"),
        (vec![bytes(1, b"m"), number(3, u64::MAX), number(14, 1)], "timestamp", "ms since 1970"),
    ];
    for (parts, class, words) in cases {
        let (field, reason) = refusal(&mut births, &parts);
        assert!(field == class && reason.contains(words), "{field}: {reason}");
    }
    let text = [bytes(1, b"note"), number(4, 12), bytes(15, b"two\nlines \"quoted\"")];
    let (lines, _) = take(&mut births, "spBv1.0/g/NDATA/n", &[metric(&text)]);
    let expected = r#"sparkplug,group=g,node=n note="two lines \"quoted\"" 1700000000000000000"#;
    assert_eq!(lines.trim_end(), expected);
}

#[test]
fn births_are_kept_within_their_room() {
    const ROOM: usize = 20_000;
    let mut births = Births::new(ROOM);
    let birth = |count: u64| -> Vec<Vec<u8>> {
        (0..count).map(|alias| named(&format!("metric {alias}"), alias, 3, 1)).collect()
    };
    for node in 0..200 {
        take(&mut births, &format!("spBv1.0/g/NBIRTH/{node}"), &birth(10));
        take(&mut births, &format!("spBv1.0/g/DBIRTH/{node}/d"), &birth(10));
        assert!(births.bytes <= ROOM);
        // The first one is heard of all the time, so others go.
        assert_eq!(take(&mut births, "spBv1.0/g/DDATA/0/d", &[numbered(9, 1)]).1, 0, "{node}");
    }
    let held: usize = births.nodes.values().map(|node| node.bytes).sum();
    assert_eq!((held, births.nodes.len()), (births.bytes, 4));
    // One that takes more than all is not remembered, and takes nothing from others.
    take(&mut births, "spBv1.0/g/NBIRTH/huge", &birth(1000));
    assert_eq!(births.nodes.len(), 4);
    assert_eq!(take(&mut births, "spBv1.0/g/NDATA/huge", &[numbered(9, 1)]).1, 1);
    // One node alone, with a device too many.
    births.clear();
    for device in 0..50 {
        take(&mut births, &format!("spBv1.0/g/DBIRTH/n/{device}"), &birth(10));
        assert!(births.bytes <= ROOM && births.bytes > 0);
    }
}

#[test]
fn a_node_is_asked_once_in_a_while() {
    let mut births = Births::new(1 << 20);
    let now = Instant::now();
    let ask = |births: &mut Births, node: &str, now| {
        let topic = format!("spBv1.0/g/DDATA/{node}/d");
        births.ask(&Topic::read(&topic).unwrap().unwrap(), now)
    };
    assert_eq!(ask(&mut births, "n", now).as_deref(), Some("spBv1.0/g/NCMD/n"));
    assert_eq!(ask(&mut births, "n", now + Duration::from_secs(59)), None);
    assert!(ask(&mut births, "m", now).is_some());
    assert!(ask(&mut births, "n", now + Duration::from_secs(60)).is_some());
    for node in 0..2 * ASKED_MAX {
        ask(&mut births, &node.to_string(), now + Duration::from_secs(60));
    }
    assert_eq!(births.asked.len(), ASKED_MAX);
    assert!(ask(&mut births, "late", now + Duration::from_secs(120)).is_some());
}
