/** DS records of zones that others sign, at registries that are reached by EPP (RFC 5910). */
import { testSignersOverEpp } from '../../../../test/support/check-signers-over-epp.ts';

await testSignersOverEpp('all');
