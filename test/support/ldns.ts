/** `ldns-verify-zone` of Debian's ldnsutils, which checks a signed zone as a whole: every signature, and that its names follow one another without a gap. */
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { DsRecord } from '../../src/domains/registry/registry.ts';

const TIMEOUT_MS = 30_000;

/** What it prints about the zone file, with these DS records for trust anchor. Rejects, with its reasons, for a zone that is wrong. */
export async function verifyZone(name: string, zoneFile: string, dsRecords: readonly DsRecord[]): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'ironcraft-ldns-'));
  try {
    const [anchors, zone] = [join(folder, 'anchors'), join(folder, 'zone')];
    const lines = dsRecords.map(
      ({ algorithm, digest, digestType, keyTag }) =>
        `${name}. 3600 IN DS ${keyTag} ${algorithm} ${digestType} ${digest}\n`,
    );
    await writeFile(anchors, lines.join(''));
    await writeFile(zone, `${zoneFile}\n`);
    const { stdout } = await promisify(execFile)('ldns-verify-zone', ['-k', anchors, zone], { timeout: TIMEOUT_MS });
    return stdout.trim();
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') {
      throw new Error('ldns-verify-zone is not installed: Debian has it in ldnsutils', { cause: error });
    }
    throw error;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
