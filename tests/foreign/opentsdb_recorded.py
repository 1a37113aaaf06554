"""Asks an OpenTSDB what testdata/opentsdb-2.4.1/recorded.json says that one answered.

opentsdb_recorded.py OPENTSDB_URL [--write]

The file has requests that fill a server that knows nothing yet, and questions with their answers;
tests/opentsdb_recorded.rs asks Foliot the same. With `--write` the answers are replaced by what this
server says. Exits with 1 where it says something else.
"""
import json
import pathlib
import sys
import time
import urllib.error
import urllib.request

FILE = pathlib.Path(__file__).parents[2] / "testdata/opentsdb-2.4.1/recorded.json"


def ask(url, case):
    """Status and text of an answer; `body` is JSON, or text if it is not to be JSON."""
    body = case.get("body")
    data = body.encode() if isinstance(body, str) else None if body is None else json.dumps(body).encode()
    asked = urllib.request.Request(url + case["path"], data=data, method=case["method"])
    try:
        with urllib.request.urlopen(asked, timeout=60) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def settled(value):
    """An answer as it is kept: tags and lookups in order, errors without what is told beside the
    message."""
    if isinstance(value, list):
        return [settled(each) for each in value]
    if isinstance(value, dict):
        if "error" in value and isinstance(value["error"], dict):
            return {"error": {name: value["error"][name] for name in ("code", "message")}}
        if value.get("type") == "LOOKUP":
            value["results"].sort(key=lambda result: result["tsuid"])
        return {name: sorted(each) if each and name in ("aggregateTags", "aggregatedTags") else settled(each)
                for name, each in value.items() if name != "time" or isinstance(each, dict)}
    return value


def ask_all(url, recorded):
    """Fills the server and asks everything; each case with a status and an answer."""
    for request in recorded["filled by"]:
        status, text = ask(url, request)
        assert status in (200, 204), (request, status, text)
    time.sleep(5)  # until everything can be read
    for case in recorded["cases"]:
        status, text = ask(url, case)
        yield case, status, settled(json.loads(text)) if text else None


def wrong_answers(url):
    """How many answers differ from those that are kept; tells which."""
    wrong = 0
    for case, status, answer in ask_all(url, json.loads(FILE.read_text())):
        if (case["status"], case["answer"]) != (status, answer):
            wrong += 1
            print(f"{case['method']} {case['path']} {case.get('body')}\n  kept {case['answer']}\n  said {answer}")
    return wrong


def main():
    url, is_written = sys.argv[1], "--write" in sys.argv
    if is_written:
        recorded = json.loads(FILE.read_text())
        for case, status, answer in ask_all(url, recorded):
            case["status"], case["answer"] = status, answer
        lines = {name: ",\n".join(json.dumps(each, ensure_ascii=False) for each in recorded[name])
                 for name in ("filled by", "cases")}
        FILE.write_text('{"from": "OpenTSDB 2.4.1",\n' + ",\n".join(
            f'"{name}": [\n{text}\n]' for name, text in lines.items()) + "}\n")
    else:
        sys.exit(1 if wrong_answers(url) else 0)


if __name__ == "__main__":
    main()
