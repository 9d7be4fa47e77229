/** Changes of registrants that take the consent of both, at a registry over EPP. */
import { testRegistrantChanges } from '../../../test/support/check-registrant-changes.ts';

await testRegistrantChanges('some');
