// What a hostile page tries. Functions that are handed to a page stand by themselves: they see
// nothing but their argument.

export const SECRET = "secret_7f3a";

const TOKEN = { orgID: "0000000100000000", permissions: [{ action: "write", resource: { type: "buckets", name: "default" } }] };
const json = (value) => JSON.stringify(value);
const q = (statement) => (mark) => `q=${encodeURIComponent(statement.replace("MARK", mark))}`;
const FORM = "application/x-www-form-urlencoded";
const line = (mark) => `${mark} v=1 1700000000000000000\n#`;
const point = (mark, more = {}) => ({ metric: mark, timestamp: 1700000000, value: 1, tags: { a: "b" }, ...more });
const at = (path) => () => path;

// A message of remote write, without a library: protobuf, in a block of snappy that is one literal.
const message = (number, body) => [(number << 3) | 2, body.length, ...body];
const text = (words) => [...Buffer.from(words)];
function remote(mark) {
  const label = message(1, [...message(1, text("__name__")), ...message(2, text(mark))]);
  const sample = message(2, [0x09, 0, 0, 0, 0, 0, 0, 0xf0, 0x3f, 0x10, 0x80, 0xd0, 0x95, 0xff, 0xbc, 0x31]);
  const whole = message(1, [...label, ...sample]);
  return [whole.length, (whole.length - 1) << 2, ...whole];
}

// One gauge of OTLP, in protobuf.
function otlp(mark) {
  const point = message(1, [0x19, 0x00, 0x00, 0x2a, 0xf7, 0x88, 0xa4, 0x97, 0x17, 0x21, 0, 0, 0, 0, 0, 0, 0xf0, 0x3f]);
  return message(1, message(2, message(2, [...message(1, text(mark)), ...message(5, point)])));
}

/** What is tried by writing methods: `adds` a name to a place of the server's state, or `takes` one away. */
export const ROWS = [
  { path: at("/write?db=default"), body: line, adds: "samples" },
  { path: at("/api/v2/write?bucket=default&org=o"), body: line, adds: "samples" },
  { path: at("/api/v3/write_lp?db=default"), body: line, adds: "samples" },
  { path: at("/api/write"), body: line, adds: "samples" },
  { path: at("/api/put"), body: (mark) => json([point(mark)]), adds: "names" },
  { path: at("/api/histogram"), body: (mark) => json(point(mark, { value: undefined, overflow: 0, underflow: 0, buckets: { "0,1": 1 } })), adds: "names" },
  { path: at("/api/v1/write"), body: remote, adds: "names" },
  { path: at("/prometheus/api/v1/write"), body: remote, adds: "names" },
  { path: at("/api/v1/import/prometheus"), body: (mark) => `${mark} 1\n#`, adds: "names" },
  { path: at("/api/v1/import"), body: (mark) => json({ metric: { __name__: mark }, values: [1], timestamps: [1700000000000] }), adds: "names" },
  { path: (mark) => `/api/v1/import/csv?format=1:label:a,2:metric:${mark},3:time:unix_s`, body: at("b,1,1700000000\nb"), adds: "names" },
  { path: at("/v1/metrics"), type: "application/x-protobuf", body: otlp, adds: "names" },
  { path: at("/opentelemetry/v1/metrics"), type: "application/x-protobuf", body: otlp, adds: "names" },
  { path: at("/api/foliot/v1/import?format=influx"), body: line, adds: "samples" },
  { at: "ticktock", path: at("/api/put"), body: (mark) => json([point(mark)]), adds: "names" },
  { at: "ticktock", path: at("/api/write"), body: line, adds: "samples" },
  { path: at("/query"), type: FORM, body: q("CREATE DATABASE MARK"), adds: "databases" },
  { path: (mark) => `/query?${q("CREATE DATABASE MARK")(mark)}`, adds: "databases" },
  { path: at("/query?db=default"), type: FORM, body: q("CREATE RETENTION POLICY MARK ON \"default\" DURATION 30d REPLICATION 1"), adds: "policies" },
  { path: at("/query?db=default"), type: FORM, body: q("CREATE USER MARK WITH PASSWORD 'twelve letters' WITH ALL PRIVILEGES"), adds: "users" },
  { path: at("/query?db=default"), type: FORM, body: q("SELECT v INTO MARK FROM kept"), adds: "samples" },
  { path: at("/api/v2/buckets"), body: (mark) => json({ orgID: "0000000100000000", name: mark, retentionRules: [] }), adds: "databases" },
  { path: at("/api/v2/authorizations"), body: (mark) => json({ ...TOKEN, description: mark }), adds: "tokens" },
  { path: at("/api/uid/assign"), body: (mark) => json({ metric: [mark] }), adds: "numbers" },
  { path: at("/api/annotation"), body: (mark, second) => json({ startTime: second, description: mark }), adds: "notes" },
  { path: at("/api/annotation/bulk"), body: (mark, second) => json([{ startTime: second, description: mark }]), adds: "notes" },
  { path: (mark, second) => `/api/annotation?start_time=${second}&description=${mark}`, adds: "notes" },
  { path: at("/api/tree"), body: (mark) => json({ name: mark }), adds: "trees" },
  { path: (mark) => `/api/tree?name=${mark}`, adds: "trees" },
  { path: at("/api/foliot/v1/saved"), body: (mark) => json({ name: mark, address: "#/explore?m=kept.v" }), adds: "saved" },
  { path: at("/api/foliot/v1/annotations"), body: (mark, second) => json({ start_ms: second * 1000, text: mark }), adds: "notes" },
  { path: at("/query?db=default"), type: FORM, body: q("DROP MEASUREMENT MARK"), takes: "samples" },
  { path: at("/query?db=default"), type: FORM, body: q("DELETE FROM MARK"), takes: "samples" },
  { path: at("/query?db=default"), type: FORM, body: q("DROP SERIES FROM MARK"), takes: "samples" },
  { path: (mark) => `/query?db=default&${q("DROP MEASUREMENT MARK")(mark)}`, takes: "samples" },
  { path: at("/query"), type: FORM, body: q("DROP DATABASE MARK"), takes: "databases" },
  { path: at("/api/v2/delete?bucket=default&org=o"), body: (mark) => json({ start: "2020-01-01T00:00:00Z", stop: "2030-01-01T00:00:00Z", predicate: `_measurement="${mark}"` }), takes: "samples" },
  { path: (mark) => `/prometheus/api/v1/admin/tsdb/delete_series?match[]=${mark}_v`, takes: "samples" },
  { path: at("/prometheus/api/v1/admin/tsdb/delete_series"), type: FORM, body: (mark) => `match[]=${mark}_v`, takes: "samples" },
  { path: at("/api/foliot/v1/delete"), body: (mark) => json({ metric: `${mark}.v` }), takes: "samples" },
  { path: at("/api/uid/rename"), body: (mark, second) => json({ metric: `${mark}.v`, name: `renamed.${second}` }), takes: "samples" },
  { method: "DELETE", path: (mark) => `/api/query?start=1600000000&m=none:${mark}.v`, takes: "samples" },
  { method: "DELETE", path: (mark) => `/api/foliot/v1/saved?name=${mark}`, takes: "saved" },
];

/** How a page can send a request with a body. */
export const WAYS = ["no-cors", "no type", "keepalive", "beacon", "form text", "form", "form parts", "cors", "cors typed", "xhr"];

/** Makes the tries, `{way, method, url, type, body, wait_ms}`, each in its way; with how many were made. */
export async function attack(tries) {
  const settled = (promise) => promise.then(() => 0, () => 0);
  const within = (ms, promise) => Promise.race([promise, new Promise((resolve) => setTimeout(resolve, ms))]);
  const bytes = (body) => (typeof body === "string" ? body : new Uint8Array(body));
  const form = (url, enctype, fields) => new Promise((resolve) => {
    const frame = document.createElement("iframe");
    frame.name = `f${Math.random()}`;
    const sent = document.createElement("form");
    Object.assign(sent, { action: url, method: "POST", target: frame.name, enctype });
    for (const [name, value] of fields) {
      const input = document.createElement("textarea");
      Object.assign(input, { name, value });
      sent.append(input);
    }
    document.body.append(frame, sent);
    frame.onload = () => (frame.remove(), resolve());
    sent.submit();
  });
  // What a form writes behind the body's end becomes part of a text within it.
  const split = (body) => {
    const end = /\}\]?$/.exec(body)?.[0];
    return end ? [[`${body.slice(0, -end.length)},"x":"`, `"${end}`]] : [[body, ""]];
  };
  const ways = {
    "no-cors": ({ method, url, body }) => fetch(url, { method: method === "POST" ? method : "POST", mode: "no-cors", credentials: "include", body: bytes(body) }),
    "no type": ({ url, body }) => fetch(url, { method: "POST", mode: "no-cors", body: new Blob([bytes(body)]) }),
    "keepalive": ({ url, body }) => fetch(url, { method: "POST", mode: "no-cors", keepalive: true, referrerPolicy: "no-referrer", body: new URLSearchParams(body) }),
    "beacon": async ({ url, body }) => navigator.sendBeacon(url, bytes(body)),
    "form text": ({ url, body }) => form(url, "text/plain", typeof body === "string" ? split(body) : []),
    "form": ({ url, body }) => form(url, "application/x-www-form-urlencoded", typeof body === "string" ? new URLSearchParams(body) : []),
    "form parts": ({ url, body }) => form(url, "multipart/form-data", typeof body === "string" ? new URLSearchParams(body) : []),
    "cors": ({ method, url, body }) => fetch(url, { method, credentials: "include", body: bytes(body) }),
    "cors typed": ({ method, url, type, body }) => fetch(url, { method, headers: { "Content-Type": type }, body: bytes(body) }),
    "xhr": ({ method, url, body }) => new Promise((resolve) => {
      const request = new XMLHttpRequest();
      request.open(method, url);
      request.withCredentials = true;
      request.onloadend = resolve;
      request.send(bytes(body));
    }),
  };
  let made = 0;
  const one = async (tried) => {
    await within(tried.wait_ms ?? 10_000, settled(Promise.resolve().then(() => ways[tried.way](tried))));
    made += 1;
  };
  const all = [...tries];
  const work = async () => {
    while (all.length > 0) await one(all.shift());
  };
  await Promise.all(Array.from({ length: 6 }, work));
  // Beacons have nobody who waits for them: what is asked behind them comes later.
  await new Promise((resolve) => setTimeout(resolve, 500));
  return made;
}

/** Changes by GET, by all that loads something. */
export async function listen({ foliot, kept, mark }) {
  const paths = [
    `/query?db=default&q=DROP+MEASUREMENT+${kept}`, `/query?q=CREATE+DATABASE+${mark}`, `/query?db=default&q=SELECT+v+INTO+${mark}+FROM+${kept}`,
    `/api/uid/assign?metric=${mark}`, `/api/uid/rename?metric=${kept}.v&name=${mark}`,
    `/api/query?start=1600000000&m=none:${kept}.v&method_override=delete`,
    `/api/annotation?start_time=1600000000&description=${mark}&method_override=post`, `/api/tree?name=${mark}&method_override=post`,
    "/logs?level=DEBUG", `/prometheus/api/v1/admin/tsdb/delete_series?match[]=${kept}_v`, `/write?db=default&precision=ns`, `/api/put?method_override=post`,
  ];
  const within = (promise) => Promise.race([promise, new Promise((resolve) => setTimeout(resolve, 3000))]).catch(() => 0);
  const element = (name, fields, where) => new Promise((resolve) => {
    const made = document.createElement(name);
    made.onload = made.onerror = () => (made.remove(), resolve());
    Object.assign(made, fields);
    where.append(made);
  });
  await Promise.all(paths.flatMap((path) => {
    const url = foliot + path;
    return [
      element("img", { src: url }, document.body), element("script", { src: url }, document.head),
      element("link", { rel: "stylesheet", href: url }, document.head), element("iframe", { src: url }, document.body),
      element("object", { data: url }, document.body), fetch(url, { mode: "no-cors", credentials: "include" }), fetch(url, { credentials: "include" }),
      fetch(url, { method: "HEAD", mode: "no-cors" }),
    ].map(within);
  }));
}

/** All by which a page could read; with what it got. */
export async function read({ foliot, secret }) {
  const learned = [];
  const put = (way, text) => learned.push({ way, text: String(text) });
  const within = (promise) => Promise.race([promise, new Promise((_, reject) => setTimeout(() => reject(new Error("nothing")), 4000))]);
  const attempt = async (way, work) => {
    try {
      put(way, await within(work()));
    } catch (error) {
      put(way, error);
    }
  };
  const paths = [
    "/query?db=default&q=SELECT+*+FROM+kept", "/query?q=SHOW+DATABASES", "/api/suggest?type=tagv", "/api/query?start=1600000000&m=none:kept.v{who=*}",
    "/api/query/last?timeseries=kept.v&resolve=true", "/api/v1/export?match[]=kept_v", "/prometheus/api/v1/series?match[]=kept_v", "/prometheus/federate?match[]=kept_v",
    "/api/foliot/v1/catalogue?of=values&label=who", "/api/foliot/v1/settings", "/api/v2/buckets", "/api/v2/authorizations", "/metrics", "/logs", "/api/config", "/q?start=1600000000&m=none:kept.v{who=*}&ascii",
  ];
  for (const path of paths) {
    await attempt(`fetch ${path}`, async () => (await fetch(foliot + path)).text());
    await attempt(`fetch with credentials ${path}`, async () => (await fetch(foliot + path, { credentials: "include" })).text());
    await attempt(`fetch without CORS ${path}`, async () => (await fetch(foliot + path, { mode: "no-cors" })).text());
  }
  await attempt("fetch by POST", async () => (await fetch(`${foliot}/query?db=default`, { method: "POST", body: new URLSearchParams({ q: "SELECT * FROM kept" }) })).text());
  await attempt("fetch as JSON", async () => (await fetch(`${foliot}/api/foliot/v1/query`, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ language: "influxql", text: "SELECT * FROM kept" }) })).text());
  await attempt("sync XHR", async () => {
    const request = new XMLHttpRequest();
    request.open("GET", foliot + paths[0], false);
    request.send();
    return request.responseText;
  });
  const element = (name, fields) => new Promise((resolve, reject) => {
    const made = document.createElement(name);
    made.onload = () => resolve(made);
    made.onerror = () => reject(new Error("error"));
    Object.assign(made, fields);
    document.body.append(made);
  });
  const tell = [];
  window.take = (data) => tell.push(JSON.stringify(data));
  window.onerror = (text) => tell.push(text);
  for (const path of ["/api/suggest?type=tagv&jsonp=take", "/api/query?start=1600000000&m=none:kept.v{who=*}&jsonp=take", "/query?q=SHOW+DATABASES", "/api/config?jsonp=take"]) {
    for (const type of ["text/javascript", "module"]) {
      await attempt(`script ${type} ${path}`, async () => (await element("script", { src: foliot + path, type }), tell.join()));
    }
    await attempt(`import ${path}`, async () => JSON.stringify(await import(foliot + path)));
    await attempt(`worker ${path}`, () => new Promise((resolve, reject) => {
      const code = `self.take = (data) => postMessage(JSON.stringify(data));
        try { importScripts(${JSON.stringify(foliot + path)}); postMessage("ran"); } catch (error) { postMessage(String(error)); }`;
      const worker = new Worker(URL.createObjectURL(new Blob([code])));
      worker.onmessage = ({ data }) => resolve(data);
      worker.onerror = reject;
    }));
  }
  await attempt("style", async () => {
    await element("link", { rel: "stylesheet", href: foliot + paths[0] });
    return [...document.styleSheets].map((sheet) => [...sheet.cssRules].map((rule) => rule.cssText)).join();
  });
  await attempt("picture", async () => {
    const image = await element("img", { src: `${foliot}/q?start=1600000000&m=none:kept.v&png` });
    const canvas = document.createElement("canvas");
    canvas.getContext("2d").drawImage(image, 0, 0);
    return canvas.toDataURL() && secret;
  });
  for (const name of ["iframe", "object", "embed"]) {
    await attempt(name, async () => (await element(name, { [name === "object" ? "data" : "src"]: foliot + paths[0] })).contentDocument.body.innerText);
  }
  await attempt("window", async () => {
    const opened = window.open(foliot + paths[0]);
    await new Promise((resolve) => setTimeout(resolve, 500));
    try {
      return `${opened.document.body.innerText} ${opened.name}`;
    } finally {
      opened.close();
    }
  });
  await attempt("event source", () => new Promise((resolve, reject) => {
    const source = new EventSource(foliot + paths[0], { withCredentials: true });
    source.onmessage = ({ data }) => resolve(data);
    source.onerror = () => (source.close(), reject(new Error("error")));
  }));
  await attempt("web socket", () => new Promise((resolve, reject) => {
    const socket = new WebSocket(foliot.replace("http", "ws") + paths[0]);
    socket.onmessage = ({ data }) => resolve(data);
    socket.onopen = () => socket.send("stats\nput a 1 1 a=b\n");
    socket.onerror = () => reject(new Error("error"));
  }));
  await attempt("service worker", async () => (await navigator.serviceWorker.register(`${foliot}/s/page.js`)).scope + secret);
  await attempt("cache", async () => {
    const cache = await caches.open("x");
    await cache.add(new Request(foliot + paths[0], { mode: "no-cors" }));
    return (await (await cache.match(foliot + paths[0])).text());
  });
  await attempt("timing", async () => {
    const entries = performance.getEntriesByType("resource").filter(({ name }) => name.startsWith(foliot));
    const isTold = entries.some(({ decodedBodySize, transferSize }) => decodedBodySize + transferSize > 0);
    return isTold && !foliot.endsWith(location.host) ? secret : "nothing";
  });
  return learned;
}

/** What a page can tell of an address without reading it: whether it loads, and how large it is. */
export async function peep({ foliot, metric, database }) {
  const asked = `start=1600000000&m=none:${metric}`;
  const paths = [`/q?${asked}&png`, `/q?${asked}&ascii`, `/query?db=${database}&q=SHOW+MEASUREMENTS`, `/api/query?${asked}`];
  const seen = [];
  performance.clearResourceTimings();
  const within = (promise) => Promise.race([promise, new Promise((resolve) => setTimeout(() => resolve("nothing"), 4000))]);
  for (const path of paths) {
    for (const [name, field] of [["img", "src"], ["script", "src"], ["link", "href"], ["object", "data"], ["embed", "src"], ["iframe", "src"], ["audio", "src"]]) {
      seen.push(await within(new Promise((resolve) => {
        const made = document.createElement(name);
        const tell = ({ type }) => {
          const { naturalWidth, contentWindow } = made;
          resolve(`${name} ${type} ${naturalWidth} ${contentWindow?.length}`);
          made.remove();
        };
        made.onload = made.onerror = made.onloadedmetadata = tell;
        if (name === "link") made.rel = "stylesheet";
        made[field] = foliot + path;
        document.body.append(made);
      })));
    }
    seen.push(await within(fetch(foliot + path, { mode: "no-cors" }).then(({ type }) => type, () => "error")));
    seen.push(await within(fetch(foliot + path).then(({ status }) => String(status), () => "error")));
    const entries = performance.getEntriesByName(foliot + path);
    seen.push(["responseStatus", "decodedBodySize", "transferSize"].map((field) => Math.max(...entries.map((entry) => entry[field]))).join());
  }
  return seen;
}
