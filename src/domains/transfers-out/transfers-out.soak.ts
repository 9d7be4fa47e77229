/** Names of ours that another registrar asks for, over EPP, with a second registrar that speaks EPP too. */
import { testTransfersOut } from '../../../test/support/check-transfers-out.ts';

await testTransfersOut('all');
