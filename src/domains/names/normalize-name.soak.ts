import { testNormalizeName } from '../../../test/support/check-normalize-name.ts';

await testNormalizeName('all');
