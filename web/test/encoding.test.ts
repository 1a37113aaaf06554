import { describe, expect, it, vi } from "vitest";
import { faultOf, isGzip, lineNotUtf8, unpacked } from "../src/encoding";

const bytes = (text: string) => new TextEncoder().encode(text);
const latin1 = (text: string) => Uint8Array.from(text, (letter) => letter.charCodeAt(0));
const utf16 = (text: string) => Uint8Array.from({ length: 2 * text.length }, (_, at) => (text.charCodeAt(at >> 1) >> (8 * (at % 2))) & 0xff);
const gzip = async (text: BlobPart) => new Uint8Array(await new Response(new Blob([text]).stream().pipeThrough(new CompressionStream("gzip"))).arrayBuffer());

const CSV = "time,bed,température\n1767225600,north,21.5\n";

describe("what a file is", () => {
  it("may be text, with a mark at its beginning or a letter cut at its end", () => {
    for (const text of [bytes(CSV), bytes(`\ufeff${CSV}`), bytes(CSV).subarray(0, 13), bytes(""), bytes("a")]) expect(faultOf(text)).toBe("");
  });
  it.each([
    ["UTF-16", utf16(`\ufeff${CSV}`), "UTF-16: save it as UTF-8"],
    ["UTF-16 without a mark", utf16(CSV.replace(/é/g, "e")), "UTF-16"],
    ["UTF-16 of the other order", utf16(`\ufeff${CSV}`).map((_, at, all) => all[at ^ 1]!), "UTF-16"],
    ["Latin-1", latin1(CSV), "Latin-1 or Windows-1252: save it as UTF-8"],
    ["a zip", bytes("PK\x03\x04xx"), "zip archive"], ["zeros", bytes("abc\0\x01\x02"), "no text"],
  ])("may be %s, and what to do is said", (_, file, said) => expect(faultOf(file)).toContain(said));
});

describe("a line that is no UTF-8", () => {
  it("is found", () => {
    expect(lineNotUtf8(bytes("a\nb\né\n"))).toBe(-1);
    expect(lineNotUtf8(Uint8Array.from([97, 10, 98, 10, 0xe9, 10, 0xe9]))).toBe(2);
  });
});

describe("a file that gzip has packed", () => {
  it("is unpacked, under its own name", async () => {
    const packed = await gzip(CSV.repeat(1000));
    expect(isGzip(packed)).toBe(true);
    const file = await unpacked(new File([packed], "beds.csv.GZ"));
    expect([file.name, await file.text()]).toEqual(["beds.csv", CSV.repeat(1000)]);
  });
  it("may have several members, of which browsers unpack one at a time", async () => {
    // Node unpacks all members at once. Browsers refuse what stands behind the first.
    const lenient = DecompressionStream;
    vi.stubGlobal("DecompressionStream", class {
      readable: ReadableStream<Uint8Array>;
      writable: WritableStream<Uint8Array>;
      constructor() {
        const packed: Uint8Array[] = [];
        const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>({
          transform: (chunk) => { packed.push(chunk); },
          flush: async (controller) => {
            const whole = new Uint8Array(await new Blob(packed as BlobPart[]).arrayBuffer());
            const said = new DataView(whole.buffer).getUint32(whole.length - 4, true);
            const text = await new Response(new Blob([whole]).stream().pipeThrough(new lenient("gzip"))).arrayBuffer();
            if (said !== text.byteLength) throw new TypeError("Junk found after end of compressed data.");
            controller.enqueue(new Uint8Array(text));
          },
        });
        [this.readable, this.writable] = [readable, writable];
      }
    });
    // What looks like the beginning of a member may stand in one.
    const odd = Uint8Array.from([0x1f, 0x8b, 8, 0]);
    const noise = crypto.getRandomValues(new Uint8Array(5000));
    noise.set(odd, 2000);
    const members = await Promise.all([CSV, noise, "", CSV.repeat(3)].map((part) => gzip(part)));
    const file = await unpacked(new File(members as BlobPart[], "x.csv.gz"));
    const expected = new Uint8Array(await new Blob([CSV, noise, "", CSV.repeat(3)]).arrayBuffer());
    expect(new Uint8Array(await file.arrayBuffer())).toEqual(expected);
    await expect(unpacked(new File([...members, members[0]!.subarray(0, 30)] as BlobPart[], "x.gz"))).rejects.toThrow("damaged or cut off");
    vi.unstubAllGlobals();
  });
  it("is refused where it is cut or too large", async () => {
    const packed = await gzip(CSV.repeat(1000));
    await expect(unpacked(new File([packed.subarray(0, 60)], "x.gz"))).rejects.toThrow("damaged or cut off");
    await expect(unpacked(new File([packed], "x.gz"), 1 << 15)).rejects.toThrow("unpack it with gunzip");
  });
});
