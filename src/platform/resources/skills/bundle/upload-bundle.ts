/**
 * Where uploads of skills go: held in memory until they are whole, then checked, packed one after the other, and stored as one
 * archive.
 */
import type { FilePart, UploadTarget } from '../../../../kernel/http/upload.ts';
import { mintId } from '../../../../kernel/ids/ids.ts';
import type { ProjectCaller } from '../../../access/caller.ts';
import { tenantDb } from '../../../store/tenant-db.ts';
import {
  blobKey,
  discardBlob,
  type FileDependencies,
  keepBlob,
  readUsedBytes,
  storageExceeded,
} from '../../files/index.ts';
import { type BundleFile, type CollectedBytes, collectBytes, tooLargeBundle } from './bundle-file.ts';
import { checkDistinct, checkPath, findRoot, isOwnFile, MANIFEST } from './check-paths.ts';
import { HeldBytes } from './held-bytes.ts';
import { MAX_FILES, MAX_PACKED_BYTES, MAX_UNPACKED_BYTES } from './limits.ts';
import { type PackedFile, packBundle } from './pack-bundle.ts';
import { readManifest, type SkillManifest } from './read-manifest.ts';
import { unpackZip } from './unpack-zip.ts';

const ZIP_TYPE = 'application/zip';
const ZIP_TYPES: readonly string[] = [ZIP_TYPE, 'application/x-zip-compressed'];

/** A file of the form, or the archive that is all of it. */
interface HeldFile extends CollectedBytes {
  readonly filename: string;
  readonly isZip: boolean;
  release(): void;
}

/** A bundle whose archive is in the blob store. */
export interface StoredBundle {
  /** Of the archive. */
  readonly sha256: string;
  readonly blobId: string;
  readonly archiveBytes: number;
  readonly manifest: SkillManifest;
  readonly files: readonly PackedFile[];
  /** Of all files. */
  readonly bytes: number;
}

export function bundleUploads(deps: FileDependencies): UploadTarget<ProjectCaller, HeldFile, StoredBundle> {
  const held = new HeldBytes();
  let packing: Promise<unknown> = Promise.resolve();
  return {
    field: 'files',
    alsoField: 'file',
    bareType: ZIP_TYPE,
    keepsFolders: true,
    maxBytes: MAX_UNPACKED_BYTES,
    // One more, so that it is refused as too many whichever way they come.
    maxFiles: MAX_FILES + 1,
    maxTotalBytes: MAX_UNPACKED_BYTES,
    store: ({ projectId }, part) => holdFile(held, projectId, part),
    combine({ projectId }, parts) {
      const stored = packing.then(() => storeBundle(deps, projectId, parts));
      packing = stored.catch(() => undefined);
      return stored;
    },
    async discard({ projectId }, stored) {
      if ('release' in stored) stored.release();
      else await discardBlob(deps, projectId, blobKey(projectId, stored.blobId));
    },
  };
}

async function holdFile(held: HeldBytes, projectId: string, part: FilePart): Promise<HeldFile> {
  const share = held.open(projectId);
  try {
    const content = await collectBytes(part.bytes, (bytes) => share.take(bytes));
    const isZip = ZIP_TYPES.includes(part.mediaType) || /\.zip$/i.test(part.filename);
    return { ...content, filename: part.filename, isZip, release: () => share.release() };
  } catch (error) {
    share.release();
    throw error;
  }
}

async function storeBundle(
  deps: FileDependencies,
  projectId: string,
  parts: readonly HeldFile[],
): Promise<StoredBundle> {
  const files = await readBundle(parts);
  const manifest = readManifest(Buffer.concat(files.find(({ path }) => path === MANIFEST)?.blocks ?? []));
  const packed = await packBundle(files);
  const { projectStorageBytes } = deps.config;
  if (packed.archive.length > projectStorageBytes - (await readUsedBytes(tenantDb(deps.db, projectId)))) {
    throw storageExceeded(projectStorageBytes);
  }
  const blobId = mintId('skb');
  const archiveBytes = packed.archive.length;
  const blob = await keepBlob(deps, projectId, blobKey(projectId, blobId), once(packed.archive), archiveBytes);
  for (const part of parts) part.release();
  const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
  return { sha256: blob.sha256, blobId, archiveBytes, manifest, files: packed.files, bytes };
}

/** The files by their paths from the folder of SKILL.md. */
async function readBundle(parts: readonly HeldFile[]): Promise<BundleFile[]> {
  const [only] = parts;
  const isZip = parts.length === 1 && only?.isZip === true;
  if (isZip && only.bytes > MAX_PACKED_BYTES) {
    throw tooLargeBundle(`The archive is larger than ${MAX_PACKED_BYTES} bytes.`);
  }
  const files = isZip ? await unpackZip(Buffer.concat(only.blocks)) : readLooseFiles(parts);
  const root = findRoot(files.map(({ path }) => path));
  return files.map((file) => ({ ...file, path: file.path.slice(root.length) }));
}

function readLooseFiles(parts: readonly HeldFile[]): BundleFile[] {
  const files = parts.map(({ filename, blocks, bytes, sha256 }) => ({
    path: decodeName(filename),
    blocks,
    bytes,
    sha256,
  }));
  for (const { path } of files) checkPath(path);
  const own = files.filter(({ path }) => isOwnFile(path));
  if (own.length > MAX_FILES) throw tooLargeBundle(`The bundle has more than ${MAX_FILES} files.`);
  checkDistinct(own.map(({ path }) => path));
  return own;
}

/** Forms write a quote and a line break in names as percent signs (HTML, "multipart form data"). */
function decodeName(filename: string): string {
  return filename.replaceAll('%22', '"').replaceAll(/%0D/gi, '\r').replaceAll(/%0A/gi, '\n');
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}
