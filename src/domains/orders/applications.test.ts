/** Names that are applied for while their TLD is being launched, at prices of their own: over HTTP and EPP. */
import { testApplications } from '../../../test/support/check-applications.ts';

await testApplications('some');
