/** Nameservers below a name, with their addresses, at registries of either model. */
import { testGlue } from '../../../../test/support/check-glue.ts';

await testGlue('some');
