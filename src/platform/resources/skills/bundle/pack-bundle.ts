/**
 * The archive that a bundle is kept as: files of the same content make the same bytes, whoever packed them before. Each file is
 * found in it by its place, so that one file is read without the others.
 */
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { mediaTypeOf } from '../../files/index.ts';
import type { BundleFile } from './bundle-file.ts';

/** The first day of zip's calendar, in local time as its format has it. */
const TIMESTAMP = new Date(1980, 0, 1);
/** Without rights to execute: what archives say of them differs from system to system. */
const MODE = 0o100644;
/** APPNOTE.TXT 4.3.7. */
const LOCAL_HEADER_BYTES = 30;
const NAME_LENGTH_AT = 26;
const EXTRA_LENGTH_AT = 28;

/** A file of a version, as its row has it. */
export interface PackedFile {
  readonly path: string;
  readonly size: number;
  readonly sha256: string;
  readonly media_type: string;
  /** Where its deflated bytes begin in the archive, and how many there are. */
  readonly packed_at: number;
  readonly packed_bytes: number;
}

export interface PackedBundle {
  readonly archive: Buffer;
  /** By path. */
  readonly files: readonly PackedFile[];
}

export async function packBundle(files: readonly BundleFile[]): Promise<PackedBundle> {
  const sorted = files.toSorted((one, other) => (one.path < other.path ? -1 : 1));
  const { ZipFile } = await import('yazl');
  const zip = new ZipFile();
  const failed = new Promise<never>((_resolve, reject) => zip.once('error', reject));
  for (const { path, blocks } of sorted) {
    zip.addReadStreamLazy(path, { mtime: TIMESTAMP, mode: MODE, forceDosTimestamp: true }, (open) =>
      open(null, Readable.from(blocks)),
    );
  }
  zip.end();
  const archive = await Promise.race([buffer(zip.outputStream), failed]);
  const places = await findPlaces(archive);
  return { archive, files: sorted.map((file) => describe(file, places)) };
}

type Places = ReadonlyMap<string, { readonly at: number; readonly bytes: number }>;

async function findPlaces(archive: Buffer): Promise<Places> {
  const places = new Map<string, { at: number; bytes: number }>();
  const { fromBufferPromise } = await import('yauzl');
  const zip = await fromBufferPromise(archive);
  for await (const { fileName, relativeOffsetOfLocalHeader: header, compressedSize: bytes } of zip.eachEntry()) {
    const names = archive.readUInt16LE(header + NAME_LENGTH_AT) + archive.readUInt16LE(header + EXTRA_LENGTH_AT);
    places.set(fileName, { at: header + LOCAL_HEADER_BYTES + names, bytes });
  }
  return places;
}

function describe({ path, bytes, sha256 }: BundleFile, places: Places): PackedFile {
  const place = places.get(path);
  if (place === undefined) throw new Error(`a packed bundle lacks its file ${path}`);
  const media_type = mediaTypeOf('', path);
  return { path, size: bytes, sha256, media_type, packed_at: place.at, packed_bytes: place.bytes };
}
