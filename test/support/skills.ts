/** Bundles of skills, as forms and as archives. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { buffer } from 'node:stream/consumers';
import { deflateRawSync } from 'node:zlib';
import { ZipFile } from 'yazl';
import { writeStoredZip } from '../../src/platform/knowledge/read/stored-zip.ts';
import type { Answer, Client } from './platform.ts';

let uploaded = 0;

/** Uploads a skill with a name of its own; answers with its id. */
export async function uploadSkill(caller: Client): Promise<string> {
  uploaded += 1;
  const answer = await caller.post('/v1/skills', bundleForm({ 'SKILL.md': skillText(`skill-${uploaded}`) }));
  assert.equal(answer.status, 201, answer.text);
  return answer.body.id;
}

export type BundleContents = Readonly<Record<string, string | Uint8Array>>;

export function skillText(name: string, description = 'Adds numbers.', more = ''): string {
  return `---\nname: ${name}\ndescription: ${description}\n${more}---\n# How to\nAdd them.\n`;
}

/** The files as the parts `files[]` of a form. */
export function bundleForm(contents: BundleContents, fields: Readonly<Record<string, string>> = {}): FormData {
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) form.set(name, value);
  for (const [path, content] of Object.entries(contents)) {
    form.append('files[]', new Blob([content as string | Uint8Array<ArrayBuffer>]), path);
  }
  return form;
}

export async function zipOf(
  contents: BundleContents,
  options: { readonly mode?: number } = {},
): Promise<Buffer<ArrayBuffer>> {
  const zip = new ZipFile();
  for (const [path, content] of Object.entries(contents)) zip.addBuffer(Buffer.from(content), path, options);
  zip.end();
  return Buffer.from(await buffer(zip.outputStream));
}

/** Sends bytes as the whole body to the platform of this URL. */
export async function postZip(url: string, { token }: Client, archive: Buffer<ArrayBuffer>): Promise<Answer> {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/zip' };
  const response = await fetch(`${url}/v1/skills`, { method: 'POST', headers, body: archive });
  const text = await response.text();
  return { status: response.status, headers: response.headers, text, body: JSON.parse(text) };
}

/** An archive of a skill that is exactly so many bytes large. */
export async function zipOfSize(bytes: number, name: string): Promise<Buffer<ArrayBuffer>> {
  const manifest = skillText(name);
  const noise = randomBytes(bytes);
  const fixed = (await zipOf({ 'SKILL.md': manifest, data: noise })).length - noise.length;
  const packed = await zipOf({ 'SKILL.md': manifest, data: noise.subarray(fixed) });
  // The comment of an archive, behind everything else, fills it to the byte.
  const slack = bytes - packed.length;
  const filled = Buffer.concat([packed, Buffer.alloc(slack)]);
  filled.writeUInt16LE(slack, packed.length - 2);
  return filled;
}

/** An archive of one deflated file of zeros, whose directory says that it has so many bytes. */
export function lyingZip(bytes: number, said: number): Buffer {
  const packed = deflateRawSync(Buffer.alloc(bytes));
  const archive = writeStoredZip([['a', packed]]);
  const directory = archive.length - 22 - 46 - 1;
  archive.writeUInt16LE(8, directory + 10);
  archive.writeUInt32LE(said, directory + 24);
  archive.writeUInt16LE(8, 8);
  archive.writeUInt32LE(said, 22);
  return archive;
}
