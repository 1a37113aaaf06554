//! Trees and their rules: `TestTreeRpc`, on its `setupStorage`.

use super::{Exchange, exchange};
use crate::opentsdb::Tsd;

/// Two trees with two rules each.
fn two_trees() -> Tsd {
    let tsd = Tsd::start();
    tsd.series("sys.cpu.0", "host=web01 owner=ops", &[(0, 1)]);
    for (path, body) in [
        ("", r#"{"name":"Test Tree","enabled":true,"storeFailures":true}"#),
        (
            "/rules",
            r#"[{"treeId":1,"level":0,"order":0,"field":"host","type":"TAGK",
                 "description":"Host Name"},
                {"treeId":1,"level":1,"order":0,"type":"METRIC","notes":"Metric rule"}]"#,
        ),
        ("", r#"{"name":"2nd Tree","description":"Other Tree"}"#),
        (
            "/rules",
            r#"[{"treeId":2,"level":0,"order":0,"field":"host","type":"TAGK"},
                {"treeId":2,"level":1,"order":0,"type":"METRIC"}]"#,
        ),
    ] {
        let answer = tsd.server.post(&format!("/api/tree{path}"), body);
        assert!([200, 204].contains(&answer.status), "{}", answer.text());
    }
    tsd
}

#[test]
fn definitions() {
    let tsd = two_trees();
    let told = r#"{"treeId":1,"description":"Hello World"}"#;
    let said = "\"description\":\"Hello World\"";
    let id = "Invalid Tree ID";
    let lost = "Unable to locate tree: 3";
    let rows: &[Exchange<'_>] = &[
        ("noRoute", "GET /noroute", "", 404, &["This endpoint is not supported"]),
        ("handleTreeGetAll", "GET ", "", 200, &["\"name\":\"Test Tree\"", "\"name\":\"2nd Tree\""]),
        ("handleTreeGetSingle", "GET ?treeid=2", "", 200, &["\"name\":\"2nd Tree\""]),
        ("handleTreeGetNotFound", "GET ?treeid=3", "", 404, &[lost]),
        ("handleTreeGetBadID655536", "GET ?treeid=655536", "", 400, &[id]),
        (
            "handleTreeQSCreateNoName",
            "GET ?method_override=post&description=HelloWorld",
            "",
            400,
            &["Tree was missing the name"],
        ),
        (
            "handleTreeQSModifyNotFound",
            "GET ?treeid=3&method_override=post&notes=a",
            "",
            404,
            &[lost],
        ),
        ("handleTreeQSModifyNotModified", "GET ?treeid=1&method_override=post", "", 304, &[]),
        (
            "handleTreeQSModify",
            "GET ?treeid=1&method_override=post&description=HelloWorld",
            "",
            200,
            &["\"description\":\"HelloWorld\"", "\"name\":\"Test Tree\""],
        ),
        ("handleTreePOSTModify", "POST ", told, 200, &[said, "\"name\":\"Test Tree\""]),
        ("handleTreePOSTModify again", "POST ", told, 200, &[said]),
        ("handleTreeQSPutNotFound", "GET ?treeid=3&method_override=put&notes=a", "", 404, &[lost]),
        ("handleTreeQSPutNotModified", "GET ?treeid=1&method_override=put", "", 304, &[]),
        (
            "handleTreeQSPut",
            "GET ?treeid=1&method_override=put&description=HelloWorld",
            "",
            200,
            &["\"description\":\"HelloWorld\"", "\"name\":\"\""],
        ),
        ("handleTreePOSTPut", "PUT ", told, 200, &[said, "\"name\":\"\""]),
        (
            "handleTreeQSCreate",
            "GET ?name=NewTree&method_override=post",
            "",
            200,
            &["\"treeId\":3"],
        ),
        ("handleTreePOSTCreate", "POST ", r#"{"name":"New Tree"}"#, 200, &["\"treeId\":4"]),
        ("handleTreeQSDeleteNotFound", "GET ?treeid=9&method_override=delete", "", 404, &[]),
        ("handleTreeQSDeleteDefault", "GET ?treeid=1&method_override=delete", "", 204, &[]),
        ("handleTreePOSTDeleteDefault", "DELETE ", r#"{"treeId":1}"#, 204, &[]),
        ("its definition is there", "GET ?treeid=1", "", 200, &[said]),
        (
            "handleTreePOSTDeleteDefinition",
            "DELETE ",
            r#"{"treeId":1,"definition":true}"#,
            204,
            &[],
        ),
        ("its definition is gone", "GET ?treeid=1", "", 404, &[]),
        (
            "handleTreeQSDeleteDefinition",
            "GET ?treeid=2&method_override=delete&definition=true",
            "",
            204,
            &[],
        ),
        ("a tree of no number", "DELETE ", "{}", 400, &[id]),
        ("the last number", "GET ?treeid=65535", "", 404, &["Unable to locate tree: 65535"]),
    ];
    exchange(&tsd, "/api/tree", rows);
}

#[test]
fn branches() {
    let tsd = two_trees();
    let rows: &[Exchange<'_>] = &[
        ("handleBranchRoot", "GET /branch?treeid=1", "", 200, &["\"displayName\":\"ROOT\""]),
        ("handleBranchChild", "GET /branch?branch=0001", "", 200, &["\"branches\":["]),
        ("handleBranchNotFound", "GET /branch?branch=00010001BECD000181A8BBBBB", "", 400, &[]),
        (
            "handleBranchNotFound, a whole number",
            "GET /branch?branch=00010001BECD",
            "",
            404,
            &["Unable to locate branch '00010001BECD' for tree '1'"],
        ),
        ("handleBranchNoTree", "GET /branch", "", 400, &["Missing or invalid branch and tree IDs"]),
        ("handleBranchBadMethod", "PUT /branch?treeid=1", "", 405, &["Method not allowed"]),
    ];
    exchange(&tsd, "/api/tree", rows);
}

#[test]
fn rules() {
    let tsd = two_trees();
    let new = r#"{"treeId":1,"level":2,"order":2,"description":"Testing","type":"metric"}"#;
    let change = r#"{"treeId":1,"level":1,"order":0,"description":"Testing"}"#;
    let replace = r#"{"treeId":1,"level":1,"order":0,"description":"New","type":"metric"}"#;
    let testing = "\"description\":\"Testing\"";
    let rule = "treeid=1&level=1&order=0";
    let [get, post, modify, put, delete] = [
        format!("GET /rule?{rule}"),
        format!("GET /rule?{rule}&method_override=post"),
        format!("GET /rule?{rule}&description=Testing&method_override=post"),
        format!("GET /rule?{rule}&description=Testing&method_override=put"),
        format!("GET /rule?{rule}&method_override=delete"),
    ];
    let create = "GET /rule?treeid=1&level=2&order=1&description=Testing&method_override=post";
    let (create_metric, create_tag) =
        (format!("{create}&type=metric"), format!("{create}&type=tagk"));
    let rows: &[Exchange<'_>] = &[
        ("handleRuleGetQS", &get, "", 200, &["\"type\":\"METRIC\"", "\"level\":1"]),
        (
            "handleRuleGetQSNotFound",
            "GET /rule?treeid=1&level=2&order=2",
            "",
            404,
            &["Unable to locate rule: [1:2:2:null]"],
        ),
        ("handleRuleGetQSTreeNotFound", "GET /rule?treeid=4&level=1&order=0", "", 404, &[]),
        ("handleRuleGetQSMissingTree", "GET /rule?level=1&order=0", "", 400, &["treeid"]),
        ("handleRuleGetQSMissingLevel", "GET /rule?treeid=1&order=0", "", 400, &["level"]),
        ("handleRuleGetQSMissingOrder", "GET /rule?treeid=1&level=1", "", 400, &["order"]),
        ("handleRuleQSNew", &create_metric, "", 200, &[testing, "\"level\":2"]),
        (
            "handleRuleQSNewFailValidation",
            &create_tag.replace("order=1", "order=7"),
            "",
            400,
            &["Missing field name required for TAGK rule"],
        ),
        (
            "handleRuleQSNewMissingType",
            &create.replace("order=1", "order=7"),
            "",
            400,
            &["Missing rule type"],
        ),
        ("handleRuleQSNotModified", &post, "", 304, &[]),
        ("handleRuleQSModify", &modify, "", 200, &[testing, "\"notes\":\"Metric rule\""]),
        ("copyChanges of the same", &modify, "", 304, &[]),
        ("handleRulePOSTNew", "POST /rule", new, 200, &[testing, "\"level\":2"]),
        ("handleRulePOSTModify", "POST /rule", change, 304, &[]),
        ("handleRuleQSPutMissingType", &put, "", 400, &["Missing rule type"]),
        ("handleRuleQSPut", &format!("{put}&type=metric"), "", 200, &[testing, "\"notes\":\"\""]),
        (
            "handleRulePUT",
            "PUT /rule",
            replace,
            200,
            &["\"description\":\"New\"", "\"notes\":\"\""],
        ),
        ("copyChanges that overwrites the same", "PUT /rule", replace, 200, &["\"level\":1"]),
        ("handleRuleQSDelete", &delete, "", 204, &[]),
        (
            "handleRuleQSDeleteNotFound",
            "GET /rule?treeid=1&level=2&order=0&method_override=delete",
            "",
            404,
            &[],
        ),
        ("handleRuleDELETE", "DELETE /rule", r#"{"treeId":1,"level":0,"order":0}"#, 204, &[]),
    ];
    exchange(&tsd, "/api/tree", rows);
}

#[test]
fn sets_of_rules() {
    let tsd = two_trees();
    let three = r#"[{"treeId":1,"level":0,"order":0,"type":"METRIC"},
        {"treeId":1,"level":0,"order":1,"type":"tagk","field":"fqdn"},
        {"treeId":1,"level":1,"order":0,"type":"tagk","field":"host"}]"#;
    let mixed = three.replacen("\"treeId\":1", "\"treeId\":2", 1);
    let first = "GET /rule?treeid=1&level=0&order=0";
    let rows: &[Exchange<'_>] = &[
        ("handleRulesGetQS", "GET /rules?treeid=1", "", 400, &["Unsupported HTTP request method"]),
        ("handleRulesPOSTNoRules", "POST /rules", "", 400, &["Invalid Tree ID"]),
        ("handleRulesPOSTEmpty", "POST /rules", "[]]", 400, &[]),
        (
            "handleRulesPOSTTreeMissmatch",
            "POST /rules",
            &mixed,
            400,
            &["All rules must belong to the same tree"],
        ),
        ("handleRulesPOST", "POST /rules", three, 204, &[]),
        ("what it kept", first, "", 200, &["\"type\":\"METRIC\"", "\"description\":\"Host Name\""]),
        ("handleRulesPUT", "PUT /rules", three, 204, &[]),
        ("what it did not", first, "", 200, &["\"type\":\"METRIC\"", "\"description\":\"\""]),
        ("handleRulesDeleteTreeNotFound", "DELETE /rules?treeid=5", "", 404, &[]),
        ("handleRulesDelete", "DELETE /rules?treeid=1", "", 204, &[]),
        ("none is left", "GET ?treeid=1", "", 200, &["\"rules\":null"]),
        ("handleRulesDeleteQS", "GET /rules?treeid=2&method_override=delete", "", 204, &[]),
    ];
    exchange(&tsd, "/api/tree", rows);
}

#[test]
fn trials_and_misfits() {
    let tsd = two_trees();
    tsd.series("sys.cpu.0", "host=web01 owner=dev", &[(0, 1)]);
    tsd.series("sys.mem", "owner=dev", &[(0, 1)]);
    let series = "000001000001000001000002000002";
    let found = ["Adding leaf", series];
    let unknown = "000001000001000001000002000009";
    let [one, two, none] = [
        format!("GET /test?treeid=1&tsuids={series}"),
        format!("GET /test?treeid=1&tsuids={series},{unknown}"),
        format!("GET /test?treeid=1&tsuids={unknown}"),
    ];
    let body = format!(r#"{{"treeId":1,"tsuids":["{series}"]}}"#);
    let both = format!(r#"{{"treeId":1,"tsuids":["{series}","{unknown}"]}}"#);
    let lost = "Unable to locate TSUID meta data";
    let missing = "Missing or invalid Tree ID";
    let rows: &[Exchange<'_>] = &[
        ("handleTestQS", &one, "", 200, &found),
        ("handleTestQSMulti", &two, "", 200, &["Adding leaf", series, unknown, lost]),
        ("handleTestPOST", "POST /test", &body, 200, &found),
        ("handleTestPUT", "PUT /test", &body, 200, &found),
        ("handleTestPOSTMulti", "POST /test", &both, 200, &["Adding leaf", unknown, lost]),
        ("handleTestTSUIDNotFound", &none, "", 200, &[lost, unknown]),
        ("handleTestTreeNotFound", "GET /test?treeid=3&tsuids=01", "", 404, &[]),
        ("handleTestMissingTreeId", "GET /test?tsuids=01", "", 400, &["treeid"]),
        (
            "handleTestQSMissingTSUIDs",
            "GET /test?treeid=1",
            "",
            400,
            &["Missing or empty TSUID list"],
        ),
        (
            "handleTestPOSTMissingTSUIDs",
            "POST /test",
            r#"{"treeId":1}"#,
            400,
            &["Missing or empty TSUID list"],
        ),
        ("handleTest without a tree", "POST /test", r#"{"tsuids":["01"]}"#, 400, &[missing]),
        ("handleTestBadMethod", "DELETE /test", &body, 400, &["Unsupported HTTP request method"]),
        ("handleCollissionsQS", "GET /collisions?treeid=1", "", 200, &["000001000001000001"]),
        (
            "handleCollissionsQSTSUIDNotFound",
            "GET /collisions?treeid=1&tsuids=030101",
            "",
            200,
            &["{}"],
        ),
        ("handleCollissionsTreeNotFound", "GET /collisions?treeid=5", "", 404, &[]),
        ("handleCollissionsMissingTreeId", "GET /collisions", "", 400, &["treeid"]),
        ("handleCollissionsPOST of none", "POST /collisions", "{}", 400, &[missing]),
        ("handleCollissionsBadMethod", "DELETE /collisions?treeid=1", "", 400, &["Unsupported"]),
        (
            "handleNotMatchedQSTSUIDNotFound",
            "GET /notmatched?treeid=1&tsuids=030101",
            "",
            200,
            &["{}"],
        ),
        ("handleNotMatchedNotFound", "GET /notmatched?treeid=5", "", 404, &[]),
        ("handleNotMatchedMissingTreeId", "GET /notmatched", "", 400, &["treeid"]),
        ("handleNotMatchedBadMethod", "DELETE /notmatched?treeid=1", "", 400, &["Unsupported"]),
    ];
    exchange(&tsd, "/api/tree", rows);
}
