// What the scenes use of three.js; README.md says how three.min.js is made of it.
export {
    BoxGeometry, BufferAttribute, BufferGeometry, CircleGeometry, Color, ConeGeometry, CustomBlending, CylinderGeometry, DoubleSide, EqualStencilFunc, Group, IncrementStencilOp,
    InterleavedBuffer, InterleavedBufferAttribute, LatheGeometry, Matrix4, Mesh, OneMinusSrcAlphaFactor, OrthographicCamera, PerspectiveCamera, PlaneGeometry,
    RingGeometry, Scene, ShaderMaterial, ShapeUtils, SphereGeometry, TorusGeometry, Vector2, Vector3, WebGLRenderer, ZeroFactor,
} from "three";
