/** Chromium as Debian packages it, for tests of pages. */
import { existsSync } from 'node:fs';
import { type Browser, chromium } from 'playwright-core';

const CHROMIUM = '/usr/bin/chromium';
/** `.ci/run` says so: where the tests decide about a change, none of them is left out. */
const isRequired = process.env.IRONCRAFT_TEST_BROWSER === 'required';

/** The reason that tests of pages give where they are skipped. */
export const NEEDS_CHROMIUM =
  isRequired || existsSync(CHROMIUM) ? false : `needs ${CHROMIUM} (Debian: apt-get install chromium)`;

export function startChromium(): Promise<Browser> {
  return chromium.launch({
    executablePath: CHROMIUM,
    // Chromium's own sandbox refuses root.
    chromiumSandbox: process.getuid?.() !== 0,
    handleSIGHUP: false,
    handleSIGINT: false,
    handleSIGTERM: false,
  });
}
