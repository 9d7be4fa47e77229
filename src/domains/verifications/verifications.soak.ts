/** Registrants who confirm their e-mail addresses, or do not, at a registry over EPP. */
import { testVerifications } from '../../../test/support/check-verifications.ts';

await testVerifications('all');
