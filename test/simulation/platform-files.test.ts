import { fileScenarios } from './platform-scenarios.ts';
import { testScenarios } from './run-scenario.ts';

testScenarios(fileScenarios);
