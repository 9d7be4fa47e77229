import { testScenarios, turnScenarios } from './platform-scenarios.ts';

testScenarios(turnScenarios);
