import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mediaTypeOf } from './media-type.ts';

const cases: readonly (readonly [sent: string, filename: string, type: string])[] = [
  ['application/pdf', 'report.bin', 'application/pdf'],
  ['Image/PNG', 'x', 'image/png'],
  ['application/octet-stream', 'report.PDF', 'application/pdf'],
  ['text/plain', 'data.csv', 'text/csv'],
  ['text/plain', 'notes.txt', 'text/plain'],
  ['text/plain', 'notes', 'text/plain'],
  ['', 'notes.md', 'text/markdown'],
  ['', 'notes', 'application/octet-stream'],
  ['text/plain', 'main.ts', 'application/typescript'],
  ['text/plain', 'main.rs', 'text/x-rust'],
  ['text/plain', 'main.go', 'text/x-golang'],
  ['text/plain', 'main.py', 'text/x-python'],
  ['text/plain', 'rows.jsonl', 'application/jsonl'],
  ['text/plain', 'config.yml', 'application/yaml'],
  ['', 'voice.m4a', 'audio/mp4'],
  ['', 'drawing.psd', 'image/vnd.adobe.photoshop'],
  ['nonsense', 'x.zzz', 'application/octet-stream'],
  ['text/html\r\nX-Evil: 1', 'page', 'application/octet-stream'],
  ['application/octet-stream', 'x.constructor', 'application/octet-stream'],
];

for (const [sent, filename, type] of cases) {
  test(`${JSON.stringify(sent)} of ${filename} is ${type}`, () => assert.equal(mediaTypeOf(sent, filename), type));
}
