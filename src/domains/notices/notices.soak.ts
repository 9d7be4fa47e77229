import { testNotices } from '../../../test/support/check-expiry-notices.ts';

await testNotices('all');
