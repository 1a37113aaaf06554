//! Names, their numbers, and what is written about them: `TestUniqueIdRpc`.

use super::{Exchange, exchange};
use crate::opentsdb::Tsd;

/// As `setupAssign` has it, where the second number of each kind was given out before. A test
/// there begins with an empty store; here each finds what those before it left.
#[test]
fn numbers_are_assigned() {
    let tsd = Tsd::start();
    let before = "/api/uid/assign?metric=m,sys.cpu.1&tagk=k,datacenter&tagv=v,myserver";
    assert_eq!(tsd.server.get(before).status, 200);
    let taken = "Name already exists with UID: 000002";
    let one_bad = format!("{{\"sys.cpu.1\":\"{taken}\"}}");
    let rows: &[Exchange<'_>] = &[
        ("assignQsMetricSingleBad", "GET assign?metric=sys.cpu.1", "", 400, &[&one_bad]),
        (
            "assignQsMetric2Good1Bad",
            "GET assign?metric=sys.cpu.0,sys.cpu.1,sys.cpu.2",
            "",
            400,
            &[&one_bad, "{\"sys.cpu.0\":\"000003\",\"sys.cpu.2\":\"000004\"}"],
        ),
        (
            "assignQsTagkSingle",
            "GET assign?tagk=host",
            "",
            200,
            &["{\"tagk\":{\"host\":\"000003\"}}"],
        ),
        (
            "assignQsTagkSingleBad",
            "GET assign?tagk=datacenter",
            "",
            400,
            &["\"tagk_errors\"", taken],
        ),
        ("assignQsTagvDouble", "GET assign?tagv=localhost,foo", "", 200, &["\"foo\":\"000004\""]),
        ("assignQsTagvSingleBad", "GET assign?tagv=myserver", "", 400, &["\"tagv_errors\"", taken]),
        (
            "assignQsFullBad",
            "GET assign?tagv=localhost2,myserver&metric=sys.cpu.3,sys.cpu.1&tagk=host2,datacenter",
            "",
            400,
            &["\"sys.cpu.3\":\"000005\"", "\"host2\":\"000004\"", "\"localhost2\":\"000005\""],
        ),
        ("assignQsNoParamValue", "GET assign?tagv=", "", 400, &["Missing values to assign UIDs"]),
        ("assignQsEmpty", "GET assign", "", 400, &["Missing values to assign UIDs"]),
        (
            "assignPostTagkDouble",
            "POST assign",
            r#"{"tagk":["a","b"]}"#,
            200,
            &["000005", "000006"],
        ),
        ("assignPostEmptyJSON", "POST assign", "{}", 400, &["Missing values to assign UIDs"]),
        ("assignPostNoContent", "POST assign", "", 400, &["Missing request content"]),
        ("assignPostNotJSON", "POST assign", "Hello", 400, &["Unable to parse the given JSON"]),
        ("assignPostBadJSON", "POST assign", r#"{"tagv":["a",b"]}"#, 400, &["Unable to parse"]),
    ];
    exchange(&tsd, "/api/uid/", rows);
}

#[test]
fn names_are_changed() {
    let tsd = Tsd::start();
    tsd.series("sys.cpu.1", "datacenter=localhost", &[(0, 1)]);
    let (missing, done) = ("Missing necessary values to rename UID", "{\"result\":\"true\"}");
    let rows: &[Exchange<'_>] = &[
        ("renameBadMethod", "PUT rename", "", 405, &["Method not allowed"]),
        ("renameQsMissingType", "GET rename?name=127.0.0.1", "", 400, &[missing]),
        ("renameQsMissingName", "GET rename?metric=sys.cpu.1", "", 400, &[missing]),
        ("renameQsNoParamValue", "GET rename?metric=&name=sys.cpu.2", "", 400, &[missing]),
        ("renameQsNoParam", "GET rename?", "", 400, &[missing]),
        ("renamePostNoName", "POST rename", r#"{"tagk":"a","not_name":"b"}"#, 400, &[missing]),
        ("renamePostNoType", "POST rename", r#"{"name":"127.0.0.1"}"#, 400, &[missing]),
        ("renamePostEmptyJSON", "POST rename", "{}", 400, &[missing]),
        ("renamePostZeroLengthContent", "POST rename", "", 400, &["Missing request content"]),
        ("renamePostNotJSON", "POST rename", "Not JSON", 400, &["Unable to parse the given JSON"]),
        (
            "renameRenameException",
            "GET rename?tagv=localhost&name=localhost",
            "",
            400,
            &["\"result\":\"false\"", "\"error\":\"When trying rename("],
        ),
        ("renameQsMetric", "GET rename?metric=sys.cpu.1&name=sys.cpu.2", "", 200, &[done]),
        (
            "renamePostMetric",
            "POST rename",
            r#"{"metric":"sys.cpu.2","name":"sys.cpu.1"}"#,
            200,
            &[done],
        ),
        ("renameQsTagk", "GET rename?tagk=datacenter&name=datacluster", "", 200, &[done]),
        (
            "renamePostTagk",
            "POST rename",
            r#"{"tagk":"datacluster","name":"datacenter"}"#,
            200,
            &[done],
        ),
        (
            "renameQsSkipUnsupportedParam",
            "GET rename?tagv=localhost&name=127.0.0.1&drop=db",
            "",
            200,
            &[done],
        ),
    ];
    exchange(&tsd, "/api/uid/", rows);
}

#[test]
fn names_are_described() {
    let tsd = Tsd::start();
    tsd.series("sys.cpu.0", "host=web01", &[(0, 1)]);
    let named = "uidmeta?uid=000001&type=metric";
    let override_with = |more: &str| format!("GET {named}&{more}");
    let (post_qs, put_qs, delete_qs) = (
        override_with("display_name=Hello&method_override=post"),
        override_with("display_name=Hello&method_override=put"),
        override_with("method_override=delete"),
    );
    let whole = r#"{"uid":"000001","type":"metric","displayName":"Hello!"}"#;
    let (nothing, no_uid, no_type, unknown) = (
        r#"{"uid":"000001","type":"metric"}"#,
        r#"{"type":"metric","displayName":"Hello!"}"#,
        r#"{"uid":"000001","displayName":"Hello!"}"#,
        r#"{"uid":"000002","type":"metric","displayName":"Hello!"}"#,
    );
    let lost = "Could not find the requested UID";
    let (hello, plain) = ("\"displayName\":\"Hello!\"", "\"displayName\":\"Hello\"");
    let rows: &[Exchange<'_>] = &[
        ("uidGet", "GET uidmeta?type=metric&uid=000001", "", 200, &["\"name\":\"sys.cpu.0\""]),
        ("uidGetNoUID", "GET uidmeta?type=metric", "", 400, &["Missing parameter", "uid"]),
        ("uidGetNoType", "GET uidmeta?uid=000001", "", 400, &["Missing parameter", "type"]),
        ("uidGetNSU", "GET uidmeta?type=metric&uid=000002", "", 404, &[lost]),
        ("uidPost", "POST uidmeta", whole, 200, &[hello]),
        ("uidPostNotModified", "POST uidmeta", nothing, 304, &[]),
        ("uidPostMissingUID", "POST uidmeta", no_uid, 400, &["Missing UID"]),
        ("uidPostMissingType", "POST uidmeta", no_type, 400, &["Missing type"]),
        ("uidPostNSU", "POST uidmeta", unknown, 404, &[lost]),
        ("uidPostQS", &post_qs, "", 200, &[plain]),
        ("uidPut", "PUT uidmeta", whole, 200, &[hello]),
        ("uidPutNotModified", "PUT uidmeta", nothing, 304, &[]),
        ("uidPutMissingUID", "PUT uidmeta", no_uid, 400, &["Missing UID"]),
        ("uidPutMissingType", "PUT uidmeta", no_type, 400, &["Missing type"]),
        ("uidPutNSU", "PUT uidmeta", unknown, 404, &[lost]),
        ("uidPutQS", &put_qs, "", 200, &[plain]),
        ("uidDeleteMissingUID", "DELETE uidmeta", no_uid, 400, &["Unable to delete UIDMeta"]),
        ("uidDeleteMissingType", "DELETE uidmeta", no_type, 400, &["Unable to delete UIDMeta"]),
        ("uidDelete", "DELETE uidmeta", whole, 204, &[]),
        ("uidDeleteQS", &delete_qs, "", 204, &[]),
        // Of `UIDMeta`: what was said once may be said again, and nothing is no change of nobody.
        ("syncToStorage again", "POST uidmeta", whole, 200, &[hello]),
        ("syncToStorage twice", "POST uidmeta", whole, 200, &[hello]),
        ("syncToStorage of no one", "POST uidmeta", r#"{"uid":"000009","type":"tagk"}"#, 304, &[]),
    ];
    exchange(&tsd, "/api/uid/", rows);
}

#[test]
fn series_are_described() {
    let tsd = Tsd::start();
    tsd.series("sys.cpu.0", "host=web01", &[(0, 1)]);
    tsd.series("sys.cpu.2", "host=web01 datacenter=dc01", &[(0, 1)]);
    let name = r#"{"displayName":"Hello World"}"#;
    let whole = r#"{"tsuid":"000001000001000001","displayName":"Hello World"}"#;
    let nothing = r#"{"tsuid":"000001000001000001"}"#;
    let hello = "\"displayName\":\"Hello World\"";
    let no_m = "Missing parameter <code>m</code>";
    let rows: &[Exchange<'_>] = &[
        ("tsuidGet", "GET tsmeta?tsuid=000001000001000001", "", 200, &["\"sys.cpu.0\""]),
        ("tsuidGetByM", "GET tsmeta?m=sys.cpu.0%7Bhost=web01%7D", "", 200, &["\"sys.cpu.0\""]),
        (
            "tsuidGetByMMultiTag",
            "GET tsmeta?m=sys.cpu.2%7Bhost=web01,datacenter=dc01%7D",
            "",
            200,
            &["\"sys.cpu.2\""],
        ),
        (
            "tsuidGetByMMultiTagWrongOrder",
            "GET tsmeta?m=sys.cpu.2%7Bdatacenter=dc01,host=web01%7D",
            "",
            200,
            &["\"sys.cpu.2\""],
        ),
        ("tsuidGetByMEmpty", "GET tsmeta?m=", "", 400, &[]),
        ("tsuidGetByMBadSyntax", "GET tsmeta?m=sys.cpu.0%7Bdatacenter=dc", "", 400, &[]),
        ("tsuidGetNotFound", "GET tsmeta?tsuid=000001000001000002", "", 404, &["Could not find"]),
        ("tsuidGetMissingTSUID", "GET tsmeta", "", 400, &[no_m]),
        ("tsuidPost", "POST tsmeta", whole, 200, &[hello]),
        ("tsuidPostNoTSUID", "POST tsmeta", name, 400, &[no_m]),
        ("tsuidPostNotModified", "POST tsmeta", nothing, 304, &[]),
        (
            "tsuidPostQS",
            "GET tsmeta?tsuid=000001000001000001&display_name=42&method_override=post",
            "",
            200,
            &["\"displayName\":\"42\""],
        ),
        ("tsuidPostQSNoTSUID", "GET tsmeta?display_name=42&method_override=post", "", 400, &[no_m]),
        (
            "tsuidPostByMNoCreate",
            "POST tsmeta?m=sys.cpu.0%7Bhost=dc01%7D",
            name,
            400,
            &["specify \\\"create=true\\\" to create a new one"],
        ),
        ("tsuidPostByM", "POST tsmeta?m=sys.cpu.0%7Bhost=dc01%7D&create=true", name, 200, &[hello]),
        ("tsuidPut", "PUT tsmeta", whole, 200, &[hello]),
        ("tsuidPutNoTSUID", "PUT tsmeta", name, 400, &[no_m]),
        ("tsuidPutNotModified", "PUT tsmeta", nothing, 304, &[]),
        (
            "tsuidPutQS",
            "GET tsmeta?tsuid=000001000001000001&display_name=42&method_override=put",
            "",
            200,
            &["\"displayName\":\"42\""],
        ),
        ("tsuidPutQSNoTSUID", "GET tsmeta?display_name=42&method_override=put", "", 400, &[no_m]),
        ("tsuidDelete", "DELETE tsmeta", whole, 204, &[]),
        (
            "tsuidDeleteQS",
            "GET tsmeta?tsuid=000001000001000001&method_override=delete",
            "",
            204,
            &[],
        ),
        // Of `parseTSMetaQS`, `TSMeta.delete` and `syncToStorage`.
        (
            "parseTSMetaQS retention",
            "GET tsmeta?tsuid=000001000001000001&retention=x&method_override=post",
            "",
            400,
            &["Unable to parse 'retention' value"],
        ),
        (
            "parseTSMetaQS max",
            "GET tsmeta?tsuid=000001000001000001&max=x&method_override=post",
            "",
            400,
            &["Unable to parse 'max' value"],
        ),
        ("delete without TSUID", "DELETE tsmeta", name, 400, &["Unable to delete TSMeta"]),
        (
            "syncToStorage of no one",
            "POST tsmeta",
            r#"{"tsuid":"000009000001000001","notes":"n"}"#,
            400,
            &[],
        ),
    ];
    exchange(&tsd, "/api/uid/", rows);
}
