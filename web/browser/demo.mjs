// Two hours of plausible samples for pictures: node browser/demo.mjs ADDRESS
const [address] = process.argv.slice(2);
const now = Math.floor(Date.now() / 1000);
const lines = [];
let seed = 7;
const random = () => {
  seed = (seed * 1103515245 + 12345) % 2147483648;
  return seed / 2147483648 - 0.5;
};
const walk = new Map();
const drift = (key, pull, noise) => {
  const next = (walk.get(key) ?? 0) * pull + random() * noise;
  walk.set(key, next);
  return next;
};
for (let at = now - 7200; at <= now; at += 10) {
  const day = Math.sin((at % 5400) / 5400 * 2 * Math.PI);
  ["north", "south", "east", "west"].forEach((bed, index) => {
    const temp = 21 + index * 1.6 + day * 2.2 + drift(`t${bed}`, 0.98, 0.5);
    lines.push(`greenhouse,bed=${bed} temp=${temp.toFixed(2)},humidity=${(62 - day * 6 + index * 2 + drift(`h${bed}`, 0.97, 1)).toFixed(1)} ${at}`);
    lines.push(`soil,bed=${bed} moisture=${(0.34 + index * 0.03 - (at % 3600) / 36000 + drift(`s${bed}`, 0.9, 0.004)).toFixed(3)},ph=${(6.6 + index * 0.1).toFixed(1)} ${at}`);
  });
  [["200", 40], ["404", 3], ["500", 0.4]].forEach(([status, usual]) => {
    const count = (walk.get(`c${status}`) ?? 0) + Math.max(0, Math.round(usual * 10 * (1.2 + day * 0.4 + random() * 0.3)));
    walk.set(`c${status}`, count);
    lines.push(`shop,host=web1,status=${status} requests=${count}i,bytes=${count * 5120}i ${at}`);
    lines.push(`shop,host=web2,status=${status} requests=${Math.round(count * 0.7)}i,bytes=${count * 3500}i ${at}`);
  });
}
// Some lines of one host come after the others, as over a bad connection.
const isLate = (line, at) => line.startsWith("shop,host=web2") && at % 97 < 2;
const sent = [...lines.filter((line, at) => !isLate(line, at)), ...lines.filter(isLate)];
for (let at = 0; at < sent.length; at += 5000) {
  const answer = await fetch(`${address}/write?db=default&precision=s`, { method: "POST", body: sent.slice(at, at + 5000).join("\n") });
  if (!answer.ok) throw new Error(`${answer.status} ${await answer.text()}`);
}

// Prometheus' counters, notes, things that are saved, and lines that are wrong.
const text = [];
for (let at = now - 7200; at <= now; at += 15) {
  for (const [index, code] of ["200", "404", "500"].entries()) {
    const total = Math.round((at - now + 7200) * [42, 2.5, 0.3][index] * (1 + 0.05 * Math.sin(at / 500)));
    text.push(`http_requests_total{job="shop",code="${code}"} ${total} ${at}000`);
  }
}
await fetch(`${address}/api/v1/import/prometheus`, { method: "POST", body: text.join("\n") });
const keep = (what, body) => fetch(`${address}/api/foliot/v1/${what}`, { method: "POST", body: JSON.stringify(body) });
await keep("annotations", { start_ms: (now - 2400) * 1000, text: "vents opened" });
await keep("annotations", { start_ms: (now - 1500) * 1000, end_ms: (now - 1100) * 1000, text: "watering" });
const explore = (pairs) => `#/explore?${new URLSearchParams([["start", "1h-ago"], ...pairs])}`;
const temp = explore([["m", "avg:$step-avg:greenhouse.temp{bed=*}"]]);
const moisture = explore([["i", 'SELECT mean(moisture) AS moisture FROM "soil" WHERE time >= $start AND time < $end GROUP BY time($step), bed']]);
const requests = explore([["stacked", "1"], ["p", "sum by (code) (rate(http_requests_total[5m]))"]]);
await keep("saved", { name: "Temperature by bed", address: temp });
await keep("saved", { name: "Shop requests by code", address: requests });
await keep("saved", { name: "Greenhouse", panels: [
  { title: "Temperature", address: temp }, { title: "Soil moisture", address: moisture }, { title: "Requests a second", address: requests },
  { title: "Humidity", address: explore([["m", "avg:$step-avg:greenhouse.humidity{bed=*}"]]) },
] });
// Files that were brought in.
for (const [file, body] of [["weather-2025.csv", `weather,site=hill wind=4.5 ${now - 86_400}`], ["meters.lp", `meter,flat=2 kwh=812.5 ${now - 86_400}\nmeter,flat=2 kwh=? ${now - 86_400}`]]) {
  const params = new URLSearchParams({ format: "influx", precision: "s", file, total_bytes: body.length, done_bytes: body.length });
  await fetch(`${address}/api/foliot/v1/import?${params}`, { method: "POST", body });
}
await fetch(`${address}/write?db=default&precision=s`, { method: "POST", body: `greenhouse,bed=north temp=warm ${now}` });
await fetch(`${address}/write?db=default&precision=s`, { method: "POST", body: `greenhouse,bed=north temp ${now}` });
await fetch(`${address}/api/put`, { method: "POST", body: '[{"metric":"sys.cpu","timestamp":"yesterday","value":1,"tags":{"host":"a"}}]' });
console.log(`${lines.length} lines`);
