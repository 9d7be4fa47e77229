/** The consent page on every screen, light and dark, beyond the one of the gate. */
import { describe } from 'node:test';
import { NEEDS_CHROMIUM } from '../../../../test/support/browser.ts';
import { openConsentPages } from '../../../../test/support/consent-pages.ts';

describe('the consent page in Chromium', { skip: NEEDS_CHROMIUM }, () => {
  const pages = openConsentPages();

  pages.testLooks('phone', 'light');
  pages.testLooks('desktop', 'light');
  pages.testLooks('desktop', 'dark');
});
