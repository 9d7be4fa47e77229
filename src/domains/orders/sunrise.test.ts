/** Names that holders of trademarks register, or apply for, before anybody else: over HTTP and EPP. */
import { testSunrise } from '../../../test/support/check-sunrise.ts';

await testSunrise('some');
