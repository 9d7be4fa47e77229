/** Registries that do not say in time what a restoration costs, or that a trademark claims a name: over EPP, silent, failing or limiting. */
import { testUnsaidTerms } from '../../../test/support/check-unsaid-terms.ts';

await testUnsaidTerms('some');
