/** Names that trademarks claim: shown, accepted and bought, over HTTP, EPP and the clearinghouse's own protocol. */
import { testClaimsNotices } from '../../../../test/support/check-claims-notices.ts';

await testClaimsNotices('all');
